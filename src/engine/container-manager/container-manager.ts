import type { Pod } from '../../api/types.ts';
import { errorMessage, UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Emit } from '../view/event-bus.ts';
import type { CgroupManager } from './cgroup-manager.ts';
import type { CgroupSettings } from './cgroup-settings.ts';
import { CgroupRefusalReport } from './cgroup-refusal-report.ts';
import { type ReservedCgroup, reservedCgroups } from './node-cgroups.ts';
import { PodCgroups } from './pod-cgroups.ts';
import { QOSCgroups } from './qos-cgroups.ts';

interface Deps {
  node: CgroupSettings;
  cgroups: CgroupManager;
  /** Pods whose containers may run. */
  activePods: () => Pod[];
  /** UIDs of the pods that are ours. */
  ownPodUIDs: () => Promise<string[]>;
  emit: Emit;
  logger: Logger;
}

/** Every cgroup of the node. kubelet: cm/container_manager_linux.go */
export class ContainerManager {
  readonly podCgroups: PodCgroups;
  readonly qosCgroups: QOSCgroups;
  private readonly deps: Deps;
  private readonly refusals: CgroupRefusalReport;

  constructor(deps: Deps) {
    this.deps = deps;
    this.refusals = new CgroupRefusalReport(deps);
    this.podCgroups = new PodCgroups({ ...deps, refusals: this.refusals });
    this.qosCgroups = new QOSCgroups({ ...deps, refusals: this.refusals });
  }

  /** Before the first pod. Throws a `UserError` when a cgroup that was named is not there. */
  async start(): Promise<void> {
    for (const cgroup of reservedCgroups(this.deps.node)) await this.enforceReserved(cgroup);
    try {
      await this.qosCgroups.start();
    } catch (error) {
      // Pods go before limits; every pod that comes or goes tries again.
      this.deps.logger.warn({ err: errorMessage(error) }, 'Making the cgroups of pods failed, it is tried again');
    }
  }

  /** The pod's cgroup, when its QoS class has the share that it needs with this pod. kubelet: kubelet.go SyncPod */
  async ensurePodCgroup(pod: Pod, isRunning: boolean): Promise<void> {
    await this.qosCgroups.settled();
    await this.podCgroups.ensure(pod, isRunning);
  }

  /** kubelet: cm/node_container_manager_linux.go enforceExistingCgroup */
  private async enforceReserved({ name, limits, path, flag }: ReservedCgroup): Promise<void> {
    const { cgroups } = this.deps;
    if (!(await cgroups.exists(name))) {
      throw new UserError(`${flag}: there is no cgroup ${path}`, {
        hint: 'Make it and put the processes into it before the agent starts, or take it out of --enforce-node-allocatable.',
      });
    }
    this.refusals.report(await cgroups.apply(name, limits));
  }
}
