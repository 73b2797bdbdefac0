import type { NodeResources } from '../../../src/engine/kuberuntime/request/linux-resources.ts';

/** A cgroup v2 node of 8 GiB with the kubelet's default configuration. */
export function makeNodeResources(changes: Partial<NodeResources> = {}): NodeResources {
  return {
    cgroupVersion: 2,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodMicros: 100_000,
    singleProcessOOMKill: false,
    memoryCapacityBytes: 8n * 1024n ** 3n,
    hasSwapController: true,
    swapForPodsBytes: 0n,
    hugePageSizes: [],
    ...changes,
  };
}
