import type { Pod } from '../../api/types.ts';
import { errorMessage, UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Emit } from '../view/event-bus.ts';
import type { Meter } from '../view/meter.ts';
import { reasons } from '../view/reasons.ts';
import type { CgroupManager } from './cgroup-manager.ts';
import type { CgroupSettings } from './cgroup-settings.ts';
import { CgroupRefusalReport } from './cgroup-refusal-report.ts';
import { type ReservedCgroup, reservedCgroups } from './node-cgroups.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';
import { PodCgroups } from './pod-cgroups.ts';
import type { ExclusiveCPUs } from './resource-managers/exclusive-cpus.ts';
import { QOSCgroups } from './qos-cgroups.ts';

interface Deps {
  node: CgroupSettings;
  cgroups: CgroupManager;
  /** Pods whose containers may run. */
  activePods: () => Pod[];
  /** UIDs of this agent's pods. */
  ownPodUIDs: () => Promise<string[]>;
  exclusiveCPUs: ExclusiveCPUs;
  emit: Emit;
  meter?: Pick<Meter, 'set'> | undefined;
  logger: Logger;
}

/** kubelet: cm/container_manager_linux.go NewContainerManager */
const memoryOnDisk = {
  type: 'Recorded',
  eventType: 'Warning',
  reason: reasons.possibleMemoryBackedVolumesOnDisk,
  message:
    'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
} as const;

/** Changes the limits of a running pod's cgroup. */
export interface PodCgroupResize {
  /**
   * Call it before a resize. Rejects if the pod uses more memory than its new limit, because lowering a container's
   * limit could kill its processes.
   */
  prepare(next: Pod): Promise<void>;
  limitsOf(pod: Pod): CgroupLimits;
  /** Clears settings of MemoryQoS. Resolves with the cgroups of containers that the runtime must clear. */
  clearMemoryQoS(pod: Pod): Promise<string[]>;
  /** Changes only these limits. */
  set(pod: Pod, limits: Partial<CgroupLimits>): Promise<void>;
  /** Sets all limits of this revision. Rejects if the kernel cannot lower them now. */
  resize(pod: Pod): Promise<void>;
}

/** All cgroups of the node. kubelet: cm/container_manager_linux.go */
export class ContainerManager {
  readonly podCgroups: PodCgroups;
  readonly qosCgroups: QOSCgroups;
  private readonly refusals: CgroupRefusalReport;

  constructor(private readonly deps: Deps) {
    this.refusals = new CgroupRefusalReport(deps);
    this.podCgroups = new PodCgroups({ ...deps, refusals: this.refusals });
    this.qosCgroups = new QOSCgroups({ ...deps, refusals: this.refusals });
  }

  /** Call it before the first pod starts. Rejects with a `UserError` if a configured cgroup is missing. */
  async start(): Promise<void> {
    const { node, emit } = this.deps;
    if (node.isTmpfsSwapped) emit(memoryOnDisk);
    for (const cgroup of reservedCgroups(node)) await this.enforceReserved(cgroup);
    try {
      await this.qosCgroups.start();
    } catch (error) {
      // Starting pods matters more than limits. The next added or removed pod triggers a retry.
      this.deps.logger.warn(
        { err: errorMessage(error) },
        'Creating the cgroups of pods failed; retrying with the next pod',
      );
    }
  }

  /** Creates the pod's cgroup once the shares of its QoS class include this pod. kubelet: kubelet.go SyncPod */
  async ensurePodCgroup(pod: Pod, isRunning: boolean): Promise<void> {
    await this.qosCgroups.settled();
    await this.podCgroups.ensure(pod, isRunning);
  }

  /** Changes the limits of running pods, and the shares of their QoS classes. */
  readonly podResize: PodCgroupResize = {
    prepare: async (next) => {
      await this.qosCgroups.update();
      await this.podCgroups.rejectMemoryInUse(next);
    },
    limitsOf: (pod) => this.podCgroups.limitsOf(pod),
    clearMemoryQoS: (pod) => this.podCgroups.clearMemoryQoS(pod),
    set: (pod, limits) => this.podCgroups.setLimits(pod, { hugePageLimits: new Map(), ...limits }),
    resize: (pod) => this.podCgroups.resize(pod),
  };

  /** kubelet: cm/node_container_manager_linux.go enforceExistingCgroup */
  private async enforceReserved({ name, limits, path, flag }: ReservedCgroup): Promise<void> {
    const { cgroups } = this.deps;
    if (!(await cgroups.exists(name))) {
      throw new UserError(`${flag}: the cgroup ${path} is missing`, {
        hint: 'Create it with its processes before the agent starts, or remove it from --enforce-node-allocatable.',
      });
    }
    this.refusals.report(await cgroups.apply(name, limits));
  }
}
