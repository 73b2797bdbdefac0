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

/** More pods than are removed while a runtime makes one sandbox. */
const maxRemembered = 1000;
/** Time after its removal in which the cgroup of a pod may come again, and the number of pods that are looked at. */
const lateCgroupMs = 120_000;
const maxLateCgroups = 100;

interface Deps {
  runtimePods: RuntimePods;
  foreignPods: Pick<ForeignPods, 'holderOf'>;
  /** The pods of the runtime by its last listing. */
  listedPods: () => readonly RuntimePod[];
  podRemover: PodRemover;
  policy: Pick<ContainerGCPolicy, 'maxPerPodContainer'>;
  podCgroups: PodCgroups;
  podDirs: PodDirs;
  undeclaredRecords: Pick<UndeclaredRecords, 'note' | 'release'>;
  /** Those of the pods that an agent of this root-dir ran. */
  ownAmong: (uids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Unmounts the volumes of a pod, if there are any. */
  unmountVolumes: (uid: string) => Promise<unknown>;
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
  faults: Pick<Faults, 'watch'>;
  /** True if a manifest declares the pod or a worker works on it. */
  isKnown: (uid: string) => boolean;
  /** True if the pod has a worker that ends it. */
  isEnding: (uid: string) => boolean;
  /** Stops a running pod without manifest and worker. */
  killOrphan: (runningPod: RuntimePod) => void;
  /** Called when a clean-up has found orphans. The next one tries again what fails. */
  onOrphans: () => void;
  /** Called when the pod changed in the runtime. */
  onPodChanged: (uid: string) => void;
  /** Called when everything of the pod was removed. `pod` is undefined if the runtime had lost it. */
  onPodRemoved: (uid: string, pod: RuntimePod | undefined) => void;
  meter?: Pick<Meter, 'count' | 'set'> | undefined;
}

/**
 * Removes the remains of pods: in the runtime, among the cgroups, on disk. All of it runs beside the sync loop, which a
 * hanging runtime therefore does not delay.
 *
 * INVARIANTS: only our pods are touched: those with a folder below the root-dir, and those that we or an earlier agent
 * removed. The folder is removed last, so that remains are found again. One removal of a pod runs at a time.
 */
export class PodGarbage {
  /** By UID. */
  private readonly removals = new Map<string, Promise<void>>();
  /** UIDs of pods whose removal before a fresh start has not succeeded yet. */
  private readonly unfinished = new Set<string>();
  private orphanCleanUp: Promise<void> | undefined;
  private sweep: object | undefined;
  /** UIDs of the orphans of the last sweep. */
  private announced: ReadonlySet<string> = new Set();
  /**
   * Monotonic times of removals by UID, newest last. A RunPodSandbox call that was cut off may still make a sandbox for
   * one of these pods.
   */
  private readonly removed = new Map<string, number>();
  /** True once the cgroups that an earlier agent left were searched for. */
  private hasSearched = false;

  constructor(private readonly deps: Deps) {}

  /** Removes all remains of a stopped pod. Does nothing if there are none. */
  async removePod(uid: string): Promise<void> {
    const { runtimePods, foreignPods, podRemover, podCgroups, podDirs, onPodChanged, onPodRemoved } = this.deps;
    const [pod] = await runtimePods.getPods({ uid });
    await podRemover.removePod(uid, pod);
    // Another owner's pod of this UID would have its processes in a cgroup of the same name.
    if (foreignPods.holderOf(uid) === undefined) await podCgroups.remove(uid);
    await this.deps.unmountVolumes(uid);
    await this.deps.undeclaredRecords.release(uid);
    await podDirs.removePodDir(uid);
    this.remember(uid);
    this.unfinished.delete(uid);
    onPodRemoved(uid, pod);
    onPodChanged(uid);
  }

  /** True if this agent has removed a pod of this UID lately. The pod may run again since. */
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
        this.warn(uid, error, 'Removing the remains of a pod failed, it is tried again');
        onEnd?.(false);
      },
    );
  }

  /** Removes all remains of a pod that starts without them. Its first sync waits for that, and repeats it. */
  startFreshRemoval(uid: string): void {
    this.unfinished.add(uid);
    this.startRemoval(uid);
  }

  /**
   * Repeats a removal before a fresh start that failed, unless the pod ends. Resolves with true if it repeated one.
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
      throw new SyncPodError(`the remains of its last run cannot be removed: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** The removal of this pod under way. Does not reject. Returns undefined if there is none. */
  removalOf(uid: string): Promise<unknown> | undefined {
    const removal = this.removals.get(uid);
    return removal === undefined ? undefined : Promise.allSettled([removal]);
  }

  /** Removes late cgroups. Resolves when the removals under way have ended. */
  settled(): Promise<unknown> {
    this.startLateCgroupRemovals();
    return Promise.allSettled(this.removals.values());
  }

  /**
   * Stops and removes pods of an earlier agent without a manifest, except spared ones. Only one clean-up runs at a
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
    // A manifest may have come since `isSpared` was made.
    const unspared = [...ours].filter((uid) => !isSpared(uid) && !this.deps.isKnown(uid));
    if (unspared.length > 0) this.deps.onOrphans();
    const orphans = unspared.filter((uid) => !this.removals.has(uid));
    this.announce(orphans);
    const onRemoval = this.newSweep();
    await Promise.all(orphans.map((uid) => this.cleanUpOrphan(uid, onRemoval)));
  }

  /** Names the running pods that are about to end, once. */
  private announce(orphans: readonly string[]): void {
    const ending = this.deps
      .listedPods()
      .filter((pod) => orphans.includes(pod.uid) && isPodRunning(pod) && !this.announced.has(pod.uid));
    this.announced = new Set(orphans);
    if (ending.length === 0) return;
    const pods = ending.map(podKey).sort();
    this.deps.logger.warn({ pods }, 'Stopping pods that are no longer declared');
  }

  /** Counts the removals of one sweep until the next one begins. kubelet: kubelet_volumes.go cleanupOrphanedPodDirs */
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
      // Its manifest may have returned meanwhile.
      if (isKnown(uid)) return;
      if (runningPod === undefined || !isPodRunning(runningPod)) {
        this.startRemoval(uid, onRemoval);
        return;
      }
      this.deps.undeclaredRecords.note(uid, 'removed');
      meter?.count('kubelet_orphaned_runtime_pods_total', {});
      killOrphan(runningPod);
    } catch (error) {
      this.warn(uid, error, 'Reading an orphaned pod from the runtime failed, it is tried again');
    }
  }

  /**
   * Removes what a runtime leaves that makes the sandbox of a removed pod late, and undoes it: the cgroup of the pod.
   * Does nothing for a pod without a cgroup.
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
          this.warn(uid, error, 'Removing the cgroup of a removed pod failed, it is tried again');
        })
        .finally(() => {
          this.removals.delete(uid);
        });
      this.removals.set(uid, removal);
    }
  }

  /** Finds cgroups that a runtime made again after an earlier agent had removed their pods, and ended. */
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
      logger.warn({ err: errorMessage(error) }, 'Looking for cgroups of removed pods failed, it is tried again');
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
