import type { Clock } from '../../clock.ts';
import type { EventBus } from '../view/event-bus.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { GenericPleg } from './generic-pleg.ts';
import type { PodCache } from './pod-cache.ts';

interface Deps {
  pleg: GenericPleg;
  cache: PodCache;
  /** Running removals of finished pods. What they remove does not count as the new pod. */
  garbage: {
    removalOf(uid: string): Promise<unknown> | undefined;
    /** Resolves with true if a removal was done for a pod that cannot start before it. */
    finishFreshRemoval(uid: string): Promise<boolean>;
  };
  events: EventBus;
  clock: Clock;
  /** Cancels all reads. */
  stopped: AbortSignal;
}

/** Syncs of one pod. Times are the start times of syncs that keep the pod running. */
interface PodSyncs {
  /** True if the agent changed the pod since its last sync finished. */
  hasChanged: boolean;
  /** Start of the sync in flight. */
  begunAtMonotonic?: number;
  /** Start of the last sync, if it changed nothing. */
  unchangedSinceMonotonic?: number;
}

/**
 * Relists single pods between full relists: after the agent changed a pod, and for callers that would otherwise wait.
 */
export class PodRefresher {
  /** By pod UID. */
  private readonly syncs = new Map<string, PodSyncs>();

  constructor(private readonly deps: Deps) {
    deps.events.subscribe((event) => {
      if (event.type === 'SyncStarted' && event.state === 'sync')
        this.syncsOf(event.pod.uid).begunAtMonotonic = deps.clock.monotonic();
      if (event.type === 'SyncFinished') this.syncFinished(event.pod.uid, event.error !== undefined);
    });
  }

  relist(uid: string): Promise<void> {
    return this.deps.pleg.relistPod(uid, this.deps.stopped);
  }

  /** Records that the agent changed the pod. The pod is relisted when the sync in flight finishes. */
  changed(uid: string): void {
    this.syncsOf(uid).hasChanged = true;
  }

  /**
   * Resolves with a status read after the pod's last sync finished. If that sync changed nothing, a read after its
   * start is enough. The kubelet always requires a read after the end: pod_workers.go podWorkerLoop
   */
  async getNewerThan(uid: string, lastSyncEndMonotonic: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { cache, clock, garbage } = this.deps;
    let newerThanMonotonic = Math.min(lastSyncEndMonotonic, this.syncs.get(uid)?.unchangedSinceMonotonic ?? Infinity);
    for (let removal = garbage.removalOf(uid); removal !== undefined; removal = garbage.removalOf(uid)) {
      // The pod was declared again during its removal. Its old containers must not count as the new pod.
      await unlessAborted(removal, signal);
      newerThanMonotonic = clock.monotonic();
    }
    if (await unlessAborted(garbage.finishFreshRemoval(uid), signal)) newerThanMonotonic = clock.monotonic();
    const status = cache.getNewerThan(uid, newerThanMonotonic, signal);
    if (!cache.hasNewerThan(uid, newerThanMonotonic)) void this.relist(uid);
    return status;
  }

  private syncFinished(uid: string, hasFailed: boolean): void {
    const { hasChanged, begunAtMonotonic } = this.syncsOf(uid);
    // One relist after a sync with changes also serves the next sync. A failed sync may have changed the pod.
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
