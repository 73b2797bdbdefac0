import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Faults } from '../../flow/faults.ts';
import type { PodCgroups } from '../container-manager/pod-cgroups.ts';
import type { ForeignPods } from '../kuberuntime/owned-runtime.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { isPodRunning, type RuntimePod } from '../container/pod-records.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { type PodRemover, surplusContainers } from '../kuberuntime/pod-remover.ts';

/** A runtime does not take so long to make a sandbox that this many pods go meanwhile. */
const maxRemembered = 1000;

interface Deps {
  runtimePods: RuntimePods;
  foreignPods: Pick<ForeignPods, 'holderOf'>;
  /** The pods of the runtime as they were last listed. */
  listedPods: () => readonly RuntimePod[];
  podRemover: PodRemover;
  podCgroups: PodCgroups;
  podDirs: PodDirs;
  logger: Logger;
  faults: Pick<Faults, 'watch'>;
  /** A manifest declares the pod, or a worker works on it. */
  isKnown: (uid: string) => boolean;
  /** Stops a pod that runs although nobody knows it. */
  killOrphan: (runningPod: RuntimePod) => void;
  /** The pod changed in the runtime. */
  onPodChanged: (uid: string) => void;
  /** Nothing is left of the pod of this UID. `pod` undefined: the runtime had lost it. */
  onPodRemoved: (uid: string, pod: RuntimePod | undefined) => void;
}

/**
 * What pods leave behind: in the runtime, among the cgroups, on the disk. All of it goes beside the sync loop, so that a
 * runtime that hangs does not hold that up.
 *
 * INVARIANTS: a pod is ours by its folder below the root-dir, or because we removed it, and only ours are touched; the folder
 * goes last, so that what is left of a pod is found again until nothing is; one removal of a pod at a time.
 */
export class PodRemains {
  private readonly deps: Deps;
  /** By UID. */
  private readonly removals = new Map<string, Promise<void>>();
  private orphanCleanUp: Promise<void> | undefined;
  /** UIDs, newest last: a call that was cut off by our death, or for which we waited too long, may still make a sandbox. */
  private readonly removed = new Set<string>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Removes everything that is left of a stopped pod. Absent is fine. */
  async removePod(uid: string): Promise<void> {
    const { runtimePods, foreignPods, podRemover, podCgroups, podDirs, onPodChanged, onPodRemoved } = this.deps;
    const [pod] = await runtimePods.getPods({ uid });
    await podRemover.removePod(uid, pod);
    // In a cgroup of this name are the processes of another one's pod then.
    if (foreignPods.holderOf(uid) === undefined) await podCgroups.remove(uid);
    await podDirs.removePodDir(uid);
    this.remember(uid);
    onPodRemoved(uid, pod);
    onPodChanged(uid);
  }

  /** The same for a pod on which no worker works; calls for one pod are one removal. */
  removeUnworked(uid: string): Promise<void> {
    const underWay = this.removals.get(uid);
    if (underWay !== undefined) return underWay;
    const removal = this.removePod(uid).finally(() => {
      this.removals.delete(uid);
    });
    this.removals.set(uid, removal);
    return removal;
  }

  startRemoval(uid: string): void {
    this.removeUnworked(uid).catch((error: unknown) => {
      this.warn(uid, error, 'Removing the remains of a pod failed, it is tried again');
    });
  }

  /** The removal of this pod that is under way. It does not reject. */
  removalOf(uid: string): Promise<unknown> | undefined {
    const removal = this.removals.get(uid);
    return removal === undefined ? undefined : Promise.allSettled([removal]);
  }

  /** Resolves when no removal is under way. */
  settled(): Promise<unknown> {
    return Promise.allSettled(this.removals.values());
  }

  /** Ends and removes pods of an earlier life whose manifest went meanwhile, but those. One such clean-up at a time. */
  startOrphanCleanUp(isSpared: (uid: string) => boolean): void {
    if (this.orphanCleanUp !== undefined) return;
    this.orphanCleanUp = this.cleanUpOrphans(isSpared).finally(() => {
      this.orphanCleanUp = undefined;
    });
    this.deps.faults.watch('clean-up of orphans', this.orphanCleanUp);
  }

  /** Removes dead instances of a container beyond the newest. */
  removeSurplus(status: RuntimePodStatus, containerName: string): void {
    for (const container of surplusContainers(status, containerName)) {
      this.deps.podRemover.removeContainer(status, container).catch((error: unknown) => {
        this.warn(status.uid, error, 'Removing a dead container failed');
      });
    }
  }

  private async cleanUpOrphans(isSpared: (uid: string) => boolean): Promise<void> {
    const late = this.deps.listedPods().flatMap(({ uid }) => (this.removed.has(uid) ? uid : []));
    const ours = new Set([...(await this.deps.podDirs.podUIDs()), ...late]);
    const orphans = [...ours].filter((uid) => !isSpared(uid) && !this.removals.has(uid));
    await Promise.all(orphans.map((uid) => this.cleanUpOrphan(uid)));
  }

  private async cleanUpOrphan(uid: string): Promise<void> {
    const { runtimePods, isKnown, killOrphan } = this.deps;
    try {
      const [runningPod] = await runtimePods.getPods({ uid });
      // Its manifest may have come back in the meantime.
      if (isKnown(uid)) return;
      if (runningPod !== undefined && isPodRunning(runningPod)) killOrphan(runningPod);
      else this.startRemoval(uid);
    } catch (error) {
      this.warn(uid, error, 'Looking at an orphaned pod failed, it is tried again');
    }
  }

  private remember(uid: string): void {
    this.removed.delete(uid);
    this.removed.add(uid);
    for (const oldest of this.removed) {
      if (this.removed.size <= maxRemembered) break;
      this.removed.delete(oldest);
    }
  }

  private warn(podUID: string, error: unknown, message: string): void {
    this.deps.logger.warn({ err: errorMessage(error), podUID }, message);
  }
}
