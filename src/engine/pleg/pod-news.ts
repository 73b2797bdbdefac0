import type { Clock } from '../../clock.ts';
import type { EventBus } from '../view/event-bus.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { GenericPleg } from './generic-pleg.ts';
import type { PodCache } from './pod-cache.ts';

interface Deps {
  pleg: GenericPleg;
  cache: PodCache;
  /** What is being removed is not told as news of a pod. */
  /** Removals under way of pods that ended. */
  remains: { removalOf(uid: string): Promise<unknown> | undefined };
  events: EventBus;
  clock: Clock;
  /** Ends every look. */
  stopped: AbortSignal;
}

/** What is known of the syncs of one pod. Times are those when a sync that keeps the pod running began. */
interface PodSyncs {
  /** Our own action changed the pod since the last sync ended. */
  hasChanged: boolean;
  /** Of the sync in flight. */
  begunAtMonotonic?: number;
  /** Of the last sync, if that changed nothing. */
  unchangedSinceMonotonic?: number;
}

/** Looks at single pods out of turn: after our own action, and for a caller that would wait for the next relist. */
export class PodNews {
  private readonly deps: Deps;
  /** By pod UID. */
  private readonly syncs = new Map<string, PodSyncs>();

  constructor(deps: Deps) {
    this.deps = deps;
    deps.events.subscribe((event) => {
      if (event.type === 'SyncStarted' && event.state === 'sync')
        this.syncsOf(event.pod.uid).begunAtMonotonic = deps.clock.monotonic();
      if (event.type === 'SyncFinished') this.syncFinished(event.pod.uid, event.error !== undefined);
    });
  }

  relist(uid: string): Promise<void> {
    return this.deps.pleg.relistPod(uid, this.deps.stopped);
  }

  /** Our own action changed the pod: it is looked at once the sync in flight ends. */
  changed(uid: string): void {
    this.syncsOf(uid).hasChanged = true;
  }

  /**
   * The status of the pod, read after its last sync ended; or since that sync began, if it changed nothing.
   * kubelet: the end counts always, pod_workers.go podWorkerLoop
   */
  async getNewerThan(uid: string, lastSyncEndMonotonic: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { cache, clock, remains } = this.deps;
    let newerThanMonotonic = Math.min(lastSyncEndMonotonic, this.syncs.get(uid)?.unchangedSinceMonotonic ?? Infinity);
    for (let removal = remains.removalOf(uid); removal !== undefined; removal = remains.removalOf(uid)) {
      // Declared again while the remains of its last run go: those must not be taken for the new one.
      await unlessAborted(removal, signal);
      newerThanMonotonic = clock.monotonic();
    }
    const status = cache.getNewerThan(uid, newerThanMonotonic, signal);
    if (!cache.hasNewerThan(uid, newerThanMonotonic)) void this.relist(uid);
    return status;
  }

  private syncFinished(uid: string, hasFailed: boolean): void {
    const { hasChanged, begunAtMonotonic } = this.syncsOf(uid);
    // One look after the sync that changed a pod is news enough for the next sync too. A failed one may have changed it.
    this.syncs.delete(uid);
    if (hasChanged || hasFailed) void this.relist(uid);
    else if (begunAtMonotonic !== undefined)
      this.syncs.set(uid, { hasChanged, unchangedSinceMonotonic: begunAtMonotonic });
  }

  private syncsOf(uid: string): PodSyncs {
    const syncs = this.syncs.get(uid) ?? { hasChanged: false };
    this.syncs.set(uid, syncs);
    return syncs;
  }
}
