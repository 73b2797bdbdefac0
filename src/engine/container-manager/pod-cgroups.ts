import { podQOSClass } from '../../api/values/qos.ts';
import type { Pod } from '../../api/types.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { CgroupSettings } from './cgroup-settings.ts';
import type { CgroupManager, CgroupRefusal } from './cgroup-manager.ts';
import { podCgroupName } from './cgroup-names.ts';
import type { CgroupRefusalReport } from './cgroup-refusal-report.ts';
import { type CgroupLimits, podCgroupLimits } from './pod-cgroup-limits.ts';
import { removePodCgroup } from './remove-pod-cgroup.ts';

interface Deps {
  node: Pick<CgroupSettings, 'cgroupsPerQOS' | 'cgroupRoot' | 'containerNode' | 'podPidsLimit'>;
  cgroups: CgroupManager;
  refusals: CgroupRefusalReport;
  logger: Logger;
}

/** The cgroup of each pod, around those of its containers. kubelet: cm/pod_container_manager_linux.go */
export class PodCgroups {
  private readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /**
   * Makes the pod's cgroup with its limits before anything runs in it. A pod that runs keeps the one it has, whatever its
   * limits: it may be of an earlier version. Only what was promised and nobody else enforces stops a pod: `podPidsLimit`.
   * kubelet: cm/pod_container_manager_linux.go EnsureExists
   */
  async ensure(pod: Pod, isRunning: boolean): Promise<void> {
    const { node, cgroups, refusals } = this.deps;
    if (!node.cgroupsPerQOS) return;
    const name = podCgroupName(node.cgroupRoot, podQOSClass(pod), pod.metadata.uid);
    if (isRunning && (await cgroups.exists(name))) return;
    const found = await cgroups.apply(name, this.limitsOf(pod));
    refusals.report(found);
    if (node.podPidsLimit > 0) throwOnPidsRefusal(found);
  }

  /** Removes the pod's cgroup, and whatever still runs in it. Absent is fine. */
  async remove(podUID: string): Promise<void> {
    const { node, cgroups, logger } = this.deps;
    if (!node.cgroupsPerQOS) return;
    try {
      await removePodCgroup(cgroups, node.cgroupRoot, podUID);
    } catch (error) {
      // Where cgroups may not be changed an empty one stays.
      if (!hasCode(error, 'EROFS', 'EPERM', 'EACCES')) throw error;
      logger.warn({ err: errorMessage(error), podUID }, 'The cgroup of a pod cannot be removed');
    }
  }

  private limitsOf(pod: Pod): CgroupLimits {
    const { podPidsLimit, containerNode } = this.deps.node;
    const { cpuCFSQuota, cpuCFSQuotaPeriodMicros, hugePageSizes } = containerNode.resources;
    const limits = podCgroupLimits(pod, {
      enforceCPULimits: cpuCFSQuota,
      cpuPeriodMicros: cpuCFSQuotaPeriodMicros,
      customCPUCFSQuotaPeriod: true,
      podPidsLimit,
    });
    // Of sizes that it does not ask for a pod gets none. kubelet: cm/cgroup_manager_linux.go maybeSetHugetlb
    const none = hugePageSizes.map((size): [bigint, bigint] => [size, 0n]);
    return { ...limits, hugePageLimits: new Map([...none, ...limits.hugePageLimits]) };
  }
}

function throwOnPidsRefusal(refusals: readonly CgroupRefusal[]): void {
  const refusal = refusals.find(({ controller }) => controller === 'pids');
  if (refusal === undefined) return;
  throw new Error(`--pod-max-pids cannot be enforced: ${refusal.path}: ${refusal.error.message}`, {
    cause: refusal.error,
  });
}
