import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import { podQOSClass } from '../../api/values/qos.ts';
import { memoryBytes, milliCPU } from '../../api/values/resource-amounts.ts';
import { podRequests } from '../../api/values/resource-totals.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Emit } from '../view/event-bus.ts';
import type { Meter } from '../view/meter.ts';
import { reasons } from '../view/reasons.ts';
import type { CgroupManager } from './cgroup-manager.ts';
import { type CgroupName, cgroupPath, qosCgroups } from './cgroup-names.ts';
import type { CgroupRefusalReport } from './cgroup-refusal-report.ts';
import type { CgroupSettings } from './cgroup-settings.ts';
import { milliCPUToShares, minShares } from './cpu-conversion.ts';
import { lacksMemoryQoS, noReservation } from './memory-qos.ts';
import { listPodCgroups } from './list-pod-cgroups.ts';
import { kubepodsLimits } from './node-cgroups.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

interface Deps {
  node: Pick<CgroupSettings, 'cgroupsPerQOS' | 'cgroupRoot' | 'cgroupDriver' | 'nodeAllocatable' | 'containerNode'>;
  cgroups: CgroupManager;
  refusals: CgroupRefusalReport;
  /** Pods whose containers may run. */
  activePods: () => Pod[];
  /** UIDs of this agent's pods. */
  ownPodUIDs: () => Promise<string[]>;
  emit: Emit;
  meter?: Pick<Meter, 'set'> | undefined;
  logger: Logger;
}

/**
 * Manages the cgroups of all pods together and of the Burstable and BestEffort classes. kubelet:
 * cm/qos_container_manager_linux.go
 *
 * INVARIANTS: one update runs at a time, and all requests before the next update share it. While a pod of another agent
 * runs below the same cgroup, no limits are set, because they could kill that pod.
 */
export class QOSCgroups {
  private readonly root: CgroupName;
  private readonly burstable: CgroupName;
  private readonly bestEffort: CgroupName;
  private written: QOSCgroupLimits | undefined;
  private isEnforced = false;
  private reportedOthers = false;
  private current: Promise<void> = Promise.resolve();
  private waiting: Promise<void> | undefined;

  constructor(private readonly deps: Deps) {
    const { root, Burstable, BestEffort } = qosCgroups(deps.node.cgroupRoot);
    this.root = root;
    this.burstable = Burstable;
    this.bestEffort = BestEffort;
  }

  /** Creates the cgroups. Keeps existing shares until the pods of an earlier agent are known. */
  async start(): Promise<void> {
    const { node, cgroups, refusals } = this.deps;
    if (!node.cgroupsPerQOS || !(await this.enforce())) return;
    const smallest = { cpuShares: minShares, hugePageLimits: new Map<bigint, bigint>() };
    if (lacksMemoryQoS(node.containerNode.resources)) await this.clearMemoryQoS();
    if (!(await cgroups.exists(this.burstable))) refusals.report(await cgroups.apply(this.burstable, smallest));
    refusals.report(await cgroups.apply(this.bestEffort, smallest));
  }

  private async clearMemoryQoS(): Promise<void> {
    const { cgroups, node, refusals } = this.deps;
    for (const name of [this.root, this.burstable]) {
      if (!(await cgroups.hasMemoryQoS(cgroupPath(name, node.cgroupDriver)))) continue;
      refusals.report(await cgroups.apply(name, noReservation));
    }
  }

  /** Sets shares and reserved memory to the requests of the active pods if they changed. Never rejects. */
  update(): Promise<void> {
    if (!this.deps.node.cgroupsPerQOS) return Promise.resolve();
    this.waiting ??= this.current.then(() => {
      this.waiting = undefined;
      this.current = this.writeLimits().catch((error: unknown) => {
        this.deps.logger.warn({ err: errorMessage(error) }, 'Updating the cgroups of the QoS classes failed');
      });
      return this.current;
    });
    return this.waiting;
  }

  /** Resolves when no update is pending or running. */
  async settled(): Promise<void> {
    await (this.waiting ?? this.current);
  }

  private async writeLimits(): Promise<void> {
    const { activePods, cgroups, meter, node, refusals } = this.deps;
    const limits = qosCgroupLimits(activePods(), node.containerNode.resources.memoryQoS);
    if (isDeepStrictEqual(limits, this.written) && this.isEnforced) return;
    if (!(await this.enforce())) return;
    if (limits.all) refusals.report(await cgroups.apply(this.root, limits.all));
    refusals.report(await cgroups.apply(this.burstable, limits.burstable));
    meter?.set('kubelet_memory_qos_node_memory_min_bytes', Number(limits.all?.memoryMinBytes ?? 0));
    meter?.set('kubelet_memory_qos_node_memory_low_bytes', Number(limits.burstable.memoryLowBytes ?? 0));
    this.written = limits;
  }

  /** Sets the limits for all pods together. Resolves with false if pods of another agent prevent it. */
  private async enforce(): Promise<boolean> {
    const { node, cgroups, refusals, emit } = this.deps;
    const path = cgroupPath(this.root, node.cgroupDriver);
    if (await this.hasPodsOfOthers()) {
      if (this.reportedOthers) return false;
      this.reportedOthers = true;
      this.isEnforced = false;
      const message = `pods of another agent run below ${path}, so its limits stay unchanged; use --cgroup-root to give this agent a separate cgroup`;
      emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.failedNodeAllocatableEnforcement, message });
      return false;
    }
    if (this.isEnforced) return true;
    const found = await cgroups.apply(this.root, kubepodsLimits(node));
    refusals.report(found);
    // Refusals were reported, and a retry would not help.
    this.isEnforced = true;
    this.reportedOthers = false;
    if (found.length === 0 && node.nodeAllocatable.enforce.includes('pods')) {
      const message = `Updated limits on ${path}`;
      emit({ type: 'Recorded', eventType: 'Normal', reason: reasons.nodeAllocatableEnforced, message });
    }
    return true;
  }

  private async hasPodsOfOthers(): Promise<boolean> {
    const { node, cgroups, ownPodUIDs } = this.deps;
    const all = await listPodCgroups(cgroups, node);
    const own = new Set(await ownPodUIDs());
    // Check them one at a time, because the files of hundreds of left-over cgroups would fill the memory.
    for (const { path } of all.filter(({ uid }) => !own.has(uid))) if (await cgroups.isPopulated(path)) return true;
    return false;
  }
}

interface QOSCgroupLimits {
  /** Of all pods together. */
  all?: CgroupLimits;
  burstable: CgroupLimits;
}

/** With the gate MemoryQoS only: reserved memory. kubelet: cm/qos_container_manager_linux.go setMemoryQoS */
function qosCgroupLimits(pods: readonly Pod[], memoryQoS?: { reservesMemory: boolean }): QOSCgroupLimits {
  const hugePageLimits = new Map<bigint, bigint>();
  const burstable = { cpuShares: qosCgroupShares(pods).Burstable, hugePageLimits };
  if (memoryQoS === undefined) return { burstable };
  const requested = (qosClass: string): bigint =>
    pods
      .filter((pod) => memoryQoS.reservesMemory && podQOSClass(pod) === qosClass)
      .reduce((sum, pod) => sum + memoryBytes(podRequests(pod)), 0n);
  const memoryLowBytes = requested('Burstable');
  // The kubelet does not set memory.low for all pods, so that the kernel ignores it in the cgroups below.
  const all = { memoryMinBytes: requested('Guaranteed') + memoryLowBytes, memoryLowBytes, hugePageLimits };
  return { all, burstable: { ...burstable, memoryLowBytes } };
}

/**
 * CPU shares of the Burstable and BestEffort cgroups for the active pods.
 * kubelet: cm/qos_container_manager_linux.go setCPUCgroupConfig
 */
export function qosCgroupShares(pods: readonly Pod[]): { Burstable: number; BestEffort: number } {
  const burstableMilliCPU = pods
    .filter((pod) => podQOSClass(pod) === 'Burstable')
    .reduce((sum, pod) => sum + milliCPU(podRequests(pod)), 0n);
  return { Burstable: milliCPUToShares(burstableMilliCPU), BestEffort: minShares };
}
