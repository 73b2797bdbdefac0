import type { Clock } from '../../clock.ts';
import type { EventBus } from '../event-bus.ts';
import type { PodRemains } from '../gc/pod-remains.ts';
import type { RuntimePodStatus } from '../kuberuntime/runtime-pod-status.ts';
import { unlessAborted } from '../unless-aborted.ts';
import type { GenericPleg } from './generic-pleg.ts';
import type { PodCache } from './pod-cache.ts';

interface Deps {
  pleg: GenericPleg;
  cache: PodCache;
  /** What is being removed is not told as news of a pod. */
  remains: Pick<PodRemains, 'removalOf'>;
  events: EventBus;
  clock: Clock;
  /** Ends every look. */
  stopped: AbortSignal;
}

/** Looks at single pods out of turn: after our own action, and for who would otherwise wait for the next relist. */
export class PodNews {
  private readonly deps: Deps;
  /** UIDs of the pods that the sync in flight changed. */
  private readonly changedPods = new Set<string>();
  /** By pod UID when the sync in flight began, of those that keep the pod running; monotonic. */
  private readonly begunAt = new Map<string, number>();
  /** The same of the last sync, of pods of which that changed nothing. */
  private readonly unchangedSince = new Map<string, number>();

  constructor(deps: Deps) {
    this.deps = deps;
    deps.events.subscribe((event) => {
      if (event.type === 'SyncStarted' && event.state === 'sync')
        this.begunAt.set(event.pod.uid, deps.clock.monotonic());
      if (event.type === 'SyncFinished') this.syncFinished(event.pod.uid, event.error !== undefined);
    });
  }

  relist(uid: string): Promise<void> {
    return this.deps.pleg.relistPod(uid, this.deps.stopped);
  }

  /** Our own action changed the pod: it is looked at once the sync in flight ends. */
  changed(uid: string): void {
    this.changedPods.add(uid);
  }

  /**
   * The status of the pod as it was read after its last sync ended, at `lastSyncEnd` of the monotonic clock; or since that
   * began, if it changed nothing. kubelet: the end counts always, pod_workers.go podWorkerLoop
   */
  async getNewerThan(uid: string, lastSyncEnd: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { cache, clock, remains } = this.deps;
    let newerThan = Math.min(lastSyncEnd, this.unchangedSince.get(uid) ?? Infinity);
    for (let removal = remains.removalOf(uid); removal !== undefined; removal = remains.removalOf(uid)) {
      // Declared again while the remains of its last run go: those must not be taken for the new one.
      await unlessAborted(removal, signal);
      newerThan = clock.monotonic();
    }
    const status = cache.getNewerThan(uid, newerThan, signal);
    if (!cache.hasNewerThan(uid, newerThan)) void this.relist(uid);
    return status;
  }

  private syncFinished(uid: string, hasFailed: boolean): void {
    const begunAt = this.begunAt.get(uid);
    this.begunAt.delete(uid);
    this.unchangedSince.delete(uid);
    // One look after the sync that changed a pod is news enough for the next sync too. What a failed one did nobody knows.
    if (this.changedPods.delete(uid) || hasFailed) void this.relist(uid);
    else if (begunAt !== undefined) this.unchangedSince.set(uid, begunAt);
  }
}
