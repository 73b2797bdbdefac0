import { podQOSClass } from '../../api/values/qos.ts';
import type { Pod } from '../../api/types.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { CgroupSettings } from './cgroup-settings.ts';
import type { CgroupManager, CgroupRefusal } from './cgroup-manager.ts';
import { type CgroupName, cgroupPath, podCgroupName } from './cgroup-names.ts';
import { lacksMemoryQoS, noReservation } from './memory-qos.ts';
import type { CgroupRefusalReport } from './cgroup-refusal-report.ts';
import { type CgroupLimits, podCgroupLimits } from './pod-cgroup-limits.ts';
import type { ExclusiveCPUs } from './resource-managers/exclusive-cpus.ts';
import { listPodCgroups, type PodCgroup } from './list-pod-cgroups.ts';
import { removePodCgroup } from './remove-pod-cgroup.ts';

interface Deps {
  node: Pick<CgroupSettings, 'cgroupsPerQOS' | 'cgroupRoot' | 'cgroupDriver' | 'containerNode' | 'podPidsLimit'>;
  cgroups: CgroupManager;
  refusals: CgroupRefusalReport;
  exclusiveCPUs: ExclusiveCPUs;
  logger: Logger;
}

/** Manages the cgroup of each pod, the parent of its containers' cgroups. kubelet: cm/pod_container_manager_linux.go */
export class PodCgroups {
  constructor(private readonly deps: Deps) {}

  /**
   * Creates the pod's cgroup with its limits before anything runs in it. Keeps the cgroup of a running pod, because an
   * earlier release may have created it. Rejects if the machine refuses `podPidsLimit`, because nothing else enforces
   * it. kubelet: cm/pod_container_manager_linux.go EnsureExists
   */
  async ensure(pod: Pod, isRunning: boolean): Promise<void> {
    const { node, cgroups, refusals } = this.deps;
    if (!node.cgroupsPerQOS) return;
    const name = this.nameOf(pod);
    if (isRunning && (await cgroups.exists(name))) return;
    const found = await cgroups.apply(name, this.limitsOf(pod));
    refusals.report(found);
    if (node.podPidsLimit > 0) throwOnPidsRefusal(found);
  }

  /**
   * Sets the limits of a running pod. Rejects if the kernel cannot apply them now, for example a memory limit below the
   * usage. kubelet: cm/pod_container_manager_linux.go SetPodCgroupConfig
   */
  async resize(pod: Pod): Promise<void> {
    await this.setLimits(pod, this.limitsOf(pod));
  }

  /** Rejects if a running pod uses more memory than its new limit. */
  async rejectMemoryInUse(pod: Pod): Promise<void> {
    const { node, cgroups } = this.deps;
    const { memoryBytes: limit = 0n } = this.limitsOf(pod);
    if (!node.cgroupsPerQOS || limit === 0n) return;
    const usage = await cgroups.memoryUsageBytes(this.nameOf(pod));
    if (usage >= limit) throw new Error(`the pod uses ${usage} bytes of memory, but its new limit is ${limit}`);
  }

  /**
   * Clears what MemoryQoS set in the pod's cgroup before its gate was turned off. Resolves with the cgroups of
   * containers that still have such settings.
   */
  async clearMemoryQoS(pod: Pod): Promise<string[]> {
    const { node, cgroups } = this.deps;
    if (!node.cgroupsPerQOS || !lacksMemoryQoS(node.containerNode.resources)) return [];
    const name = this.nameOf(pod);
    if (await cgroups.hasMemoryQoS(cgroupPath(name, node.cgroupDriver))) await cgroups.apply(name, noReservation);
    const found: string[] = [];
    for (const path of await cgroups.children(name)) if (await cgroups.hasMemoryQoS(path)) found.push(path);
    return found;
  }

  private nameOf(pod: Pod): CgroupName {
    return podCgroupName(this.deps.node.cgroupRoot, podQOSClass(pod), pod.metadata.uid);
  }

  /** Changes these limits of a running pod. Rejects like `resize`. */
  async setLimits(pod: Pod, limits: CgroupLimits): Promise<void> {
    const { node, cgroups, refusals } = this.deps;
    if (!node.cgroupsPerQOS) return;
    const found = await cgroups.apply(this.nameOf(pod), limits);
    const busy = found.find(({ error }) => hasCode(error, 'EBUSY'));
    if (busy !== undefined) throw new Error(`${busy.path}: ${busy.error.message}`, { cause: busy.error });
    refusals.report(found);
  }

  /** Removes the pod's cgroup and kills its processes. Does nothing if it is missing. */
  async remove(podUID: string): Promise<void> {
    const { node, cgroups, logger } = this.deps;
    if (!node.cgroupsPerQOS) return;
    try {
      await removePodCgroup(cgroups, node.cgroupRoot, podUID);
    } catch (error) {
      // If cgroups are read-only, the empty cgroup stays.
      if (!hasCode(error, 'EROFS', 'EPERM', 'EACCES')) throw error;
      logger.warn({ err: errorMessage(error), podUID }, 'Removing the cgroup of a pod failed');
    }
  }

  /** All pod cgroups, including those of other agents. Resolves with [] if pods have no cgroups. */
  list(): Promise<PodCgroup[]> {
    const { node, cgroups } = this.deps;
    return node.cgroupsPerQOS ? listPodCgroups(cgroups, node) : Promise.resolve([]);
  }

  isPopulated(path: string): Promise<boolean> {
    return this.deps.cgroups.isPopulated(path);
  }

  /** The limits of the pod's cgroup. */
  limitsOf(pod: Pod): CgroupLimits {
    const { exclusiveCPUs, node } = this.deps;
    const { podPidsLimit, containerNode } = node;
    const { cpuCFSQuota, cpuCFSQuotaPeriodMicros, hugePageSizes, memoryQoS } = containerNode.resources;
    const limits = podCgroupLimits(pod, {
      enforceCPULimits: cpuCFSQuota && exclusiveCPUs(pod).size === 0,
      cpuPeriodMicros: cpuCFSQuotaPeriodMicros,
      podPidsLimit,
      reservesMemory: memoryQoS?.reservesMemory,
    });
    // Sizes that the pod does not request are limited to 0. kubelet: cm/cgroup_manager_linux.go maybeSetHugetlb
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
