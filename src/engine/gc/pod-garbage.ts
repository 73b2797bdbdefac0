import { podKey } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Faults } from '../../flow/faults.ts';
import type { PodCgroups } from '../container-manager/pod-cgroups.ts';
import type { ForeignPods } from '../kuberuntime/owned-runtime.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { Meter } from '../view/meter.ts';
import { SyncPodError } from '../pod-workers/sync-pod-error.ts';
import { isPodRunning, type RuntimePod } from '../container/runtime-pod.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import { type PodRemover, surplusContainers } from '../kuberuntime/pod-remover.ts';
import type { ContainerGCPolicy } from './container-gc.ts';
import { findLeftCgroups } from './left-cgroups.ts';
import type { UndeclaredRecords } from './undeclared-records.ts';

/** More pods than can be removed while a runtime creates one sandbox. */
const maxRemembered = 1000;
/** How long after a pod's removal the runtime may recreate its cgroup, and how many pods are checked for that. */
const lateCgroupMs = 120_000;
const maxLateCgroups = 100;

interface Deps {
  runtimePods: RuntimePods;
  foreignPods: Pick<ForeignPods, 'holderOf'>;
  /** The pods of the runtime in its last listing. */
  listedPods: () => readonly RuntimePod[];
  podRemover: PodRemover;
  policy: Pick<ContainerGCPolicy, 'maxPerPodContainer'>;
  podCgroups: PodCgroups;
  podDirs: PodDirs;
  undeclaredRecords: Pick<UndeclaredRecords, 'record' | 'release'>;
  /** Returns which of these pods an agent of this root-dir ran. */
  ownAmong: (uids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Unmounts the volumes of a pod, if there are any. */
  unmountVolumes: (uid: string) => Promise<unknown>;
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
  faults: Pick<Faults, 'watch'>;
  /** True if a manifest declares the pod or a worker works on it. */
  isKnown: (uid: string) => boolean;
  /** True if a worker is stopping the pod. */
  isEnding: (uid: string) => boolean;
  /** Stops a running pod that has neither manifest nor worker. */
  killOrphan: (runningPod: RuntimePod) => void;
  /** Called when a clean-up found orphans. If a removal fails, the next clean-up retries it. */
  onOrphans: () => void;
  /** Called when the pod changed in the runtime. */
  onPodChanged: (uid: string) => void;
  /** Called when nothing of the pod remains. `pod` is undefined if the runtime did not have it. */
  onPodRemoved: (uid: string, pod: RuntimePod | undefined) => void;
  meter?: Pick<Meter, 'count' | 'set'> | undefined;
}

/**
 * Removes the remains of pods in the runtime, the cgroups and on disk. This runs concurrently with the sync loop, so a
 * hung runtime does not delay that loop.
 *
 * INVARIANTS: only our pods are touched: those with a folder below the root-dir, and those that we or an earlier agent
 * removed. The folder is removed last, so that remains are found again after a crash. Each pod has one removal at a
 * time.
 */
export class PodGarbage {
  /** By UID. */
  private readonly removals = new Map<string, Promise<void>>();
  /** UIDs of pods that start afresh, but whose old remains are not removed yet. */
  private readonly unfinished = new Set<string>();
  private orphanCleanUp: Promise<void> | undefined;
  private sweep: object | undefined;
  /** UIDs of the orphans of the last sweep. */
  private announced: ReadonlySet<string> = new Set();
  /**
   * Monotonic times of removals by UID, newest last. A RunPodSandbox call that was cancelled may still create a sandbox
   * for one of these pods.
   */
  private readonly removed = new Map<string, number>();
  /** True once it has searched for cgroups that an earlier agent left. */
  private hasSearched = false;

  constructor(private readonly deps: Deps) {}

  /** Removes all remains of a stopped pod. Does nothing if there are none. */
  async removePod(uid: string): Promise<void> {
    const { runtimePods, foreignPods, podRemover, podCgroups, podDirs, onPodChanged, onPodRemoved } = this.deps;
    const [pod] = await runtimePods.getPods({ uid });
    await podRemover.removePod(uid, pod);
    // If another owner has a pod with this UID, its processes are in a cgroup of the same name.
    if (foreignPods.holderOf(uid) === undefined) await podCgroups.remove(uid);
    await this.deps.unmountVolumes(uid);
    await this.deps.undeclaredRecords.release(uid);
    await podDirs.removePodDir(uid);
    this.remember(uid);
    this.unfinished.delete(uid);
    onPodRemoved(uid, pod);
    onPodChanged(uid);
  }

  /** True if this agent recently removed a pod with this UID. The pod may be running again. */
  hasRemoved(uid: string): boolean {
    return this.removed.has(uid);
  }

  /** Removes a pod that has no worker. Concurrent calls for one pod share one removal. */
  removeUnworked(uid: string): Promise<void> {
    const underWay = this.removals.get(uid);
    if (underWay !== undefined) return underWay;
    const removal = this.removePod(uid).finally(() => {
      this.removals.delete(uid);
    });
    this.removals.set(uid, removal);
    return removal;
  }

  startRemoval(uid: string, onEnd?: (isRemoved: boolean) => void): void {
    this.removeUnworked(uid).then(
      () => onEnd?.(true),
      (error: unknown) => {
        this.warn(uid, error, 'Removing what is left of a pod failed; retrying');
        onEnd?.(false);
      },
    );
  }

  /** Removes all remains of a pod that starts afresh. Its first sync waits for this, and retries it if it failed. */
  startFreshRemoval(uid: string): void {
    this.unfinished.add(uid);
    this.startRemoval(uid);
  }

  /**
   * Retries a failed removal before a fresh start, unless the pod is stopping. Resolves with true if it retried one.
   * Rejects with a `SyncPodError` if it fails again.
   */
  async finishFreshRemoval(uid: string): Promise<boolean> {
    if (!this.unfinished.has(uid)) return false;
    if (this.deps.isEnding(uid)) {
      this.unfinished.delete(uid);
      return false;
    }
    try {
      await this.removeUnworked(uid);
      return true;
    } catch (error) {
      throw new SyncPodError(`what its last run left cannot be removed: ${errorMessage(error)}`, { cause: error });
    }
  }

  /**
   * Returns a promise for the removal of this pod that is in progress. It never rejects. Returns undefined if there is
   * none.
   */
  removalOf(uid: string): Promise<unknown> | undefined {
    const removal = this.removals.get(uid);
    return removal === undefined ? undefined : Promise.allSettled([removal]);
  }

  /** Removes late cgroups. Resolves once no removal is in progress. */
  settled(): Promise<unknown> {
    this.startLateCgroupRemovals();
    return Promise.allSettled(this.removals.values());
  }

  /**
   * Stops and removes pods of an earlier agent that no manifest declares, except spared ones. One clean-up runs at a
   * time.
   */
  startOrphanCleanUp(isSpared: (uid: string) => boolean): void {
    if (this.orphanCleanUp !== undefined) return;
    this.orphanCleanUp = this.cleanUpOrphans(isSpared).finally(() => {
      this.orphanCleanUp = undefined;
    });
    this.deps.faults.watch('clean-up of orphans', this.orphanCleanUp);
  }

  /** Removes the oldest dead instances of a container. The newest always stays. */
  removeSurplus(status: RuntimePodStatus, containerName: string): void {
    const maxKept = Math.max(this.deps.policy.maxPerPodContainer, 1);
    const surplus = surplusContainers(status, containerName, maxKept);
    void this.deps.podRemover.removeContainers(status, surplus).then((errors) => {
      for (const error of errors) this.warn(status.uid, error, 'Removing a dead container failed');
    });
  }

  private async cleanUpOrphans(isSpared: (uid: string) => boolean): Promise<void> {
    const late = this.deps.listedPods().flatMap(({ uid }) => (this.removed.has(uid) ? uid : []));
    const own = new Set(await this.deps.podDirs.podUIDs());
    const ours = new Set([...own, ...late]);
    if (!this.hasSearched) await this.findLeftCgroups(own);
    this.startLateCgroupRemovals();
    // A manifest may have been added since `isSpared` was created.
    const unspared = [...ours].filter((uid) => !isSpared(uid) && !this.deps.isKnown(uid));
    if (unspared.length > 0) this.deps.onOrphans();
    const orphans = unspared.filter((uid) => !this.removals.has(uid));
    this.announce(orphans);
    const onRemoval = this.newSweep();
    await Promise.all(orphans.map((uid) => this.cleanUpOrphan(uid, onRemoval)));
  }

  /** Announces once which running pods are about to be stopped. */
  private announce(orphans: readonly string[]): void {
    const ending = this.deps
      .listedPods()
      .filter((pod) => orphans.includes(pod.uid) && isPodRunning(pod) && !this.announced.has(pod.uid));
    this.announced = new Set(orphans);
    if (ending.length === 0) return;
    const pods = ending.map(podKey).sort();
    this.deps.logger.warn({ pods }, 'Stopping pods that are no longer declared');
  }

  /**
   * Starts a sweep and returns the function that counts its removals. kubelet: kubelet_volumes.go
   * cleanupOrphanedPodDirs
   */
  private newSweep(): (isRemoved: boolean) => void {
    const { meter } = this.deps;
    const sweep = { removed: 0, failed: 0 };
    this.sweep = sweep;
    const show = (): void => {
      if (this.sweep !== sweep) return;
      meter?.set('kubelet_orphan_pod_cleaned_volumes', sweep.removed);
      meter?.set('kubelet_orphan_pod_cleaned_volumes_errors', sweep.failed);
    };
    show();
    return (isRemoved) => {
      sweep[isRemoved ? 'removed' : 'failed'] += 1;
      show();
    };
  }

  private async cleanUpOrphan(uid: string, onRemoval: (isRemoved: boolean) => void): Promise<void> {
    const { runtimePods, isKnown, killOrphan, meter } = this.deps;
    try {
      const [runningPod] = await runtimePods.getPods({ uid });
      // Its manifest may have come back in the meantime.
      if (isKnown(uid)) return;
      if (runningPod === undefined || !isPodRunning(runningPod)) {
        this.startRemoval(uid, onRemoval);
        return;
      }
      this.deps.undeclaredRecords.record(uid, 'removed');
      meter?.count('kubelet_orphaned_runtime_pods_total', {});
      killOrphan(runningPod);
    } catch (error) {
      this.warn(uid, error, 'Reading an orphaned pod from the runtime failed; retrying');
    }
  }

  /**
   * Removes the cgroups of pods whose sandbox the runtime created too late and then removed again, because it leaves
   * the cgroup. Does nothing for a pod without a cgroup.
   */
  private startLateCgroupRemovals(): void {
    const { clock, foreignPods, isKnown, listedPods, podCgroups } = this.deps;
    const sinceMonotonic = clock.monotonic() - lateCgroupMs;
    const recent = [...this.removed].filter(([, at]) => at >= sinceMonotonic).slice(-maxLateCgroups);
    const listed = new Set(listedPods().map(({ uid }) => uid));
    for (const [uid] of recent) {
      if (listed.has(uid) || isKnown(uid) || this.removals.has(uid) || foreignPods.holderOf(uid) !== undefined)
        continue;
      const removal = podCgroups
        .remove(uid)
        .catch((error: unknown) => {
          this.warn(uid, error, 'Removing the cgroup of a removed pod failed; retrying');
        })
        .finally(() => {
          this.removals.delete(uid);
        });
      this.removals.set(uid, removal);
    }
  }

  /** Finds cgroups that a runtime recreated after an earlier agent had removed their pods and exited. */
  private async findLeftCgroups(own: ReadonlySet<string>): Promise<void> {
    const { foreignPods, isKnown, listedPods, logger, ownAmong, podCgroups } = this.deps;
    const listed = new Set(listedPods().map(({ uid }) => uid));
    const isPresent = (uid: string): boolean =>
      own.has(uid) || listed.has(uid) || isKnown(uid) || foreignPods.holderOf(uid) !== undefined;
    try {
      const cgroups = await podCgroups.list();
      const isPopulated = (path: string): Promise<boolean> => podCgroups.isPopulated(path);
      const { empty, populated } = await findLeftCgroups({ cgroups, isPopulated, isPresent, ownAmong });
      this.hasSearched = true;
      for (const { uid, path } of empty) {
        logger.info({ podUID: uid, cgroup: path }, 'Removing the cgroup of a pod that an earlier agent removed');
        this.remember(uid);
      }
      for (const { uid, path } of populated)
        logger.warn(
          { podUID: uid, cgroup: path },
          'Processes run in the cgroup of a pod that an earlier agent removed',
        );
    } catch (error) {
      logger.warn({ err: errorMessage(error) }, 'Finding cgroups of removed pods failed; retrying');
    }
  }

  private remember(uid: string): void {
    this.removed.delete(uid);
    this.removed.set(uid, this.deps.clock.monotonic());
    for (const oldest of this.removed.keys()) {
      if (this.removed.size <= maxRemembered) break;
      this.removed.delete(oldest);
    }
  }

  private warn(podUID: string, error: unknown, message: string): void {
    this.deps.logger.warn({ err: errorMessage(error), podUID }, message);
  }
}
