import type { Clock } from '../../clock.ts';
import type { EventBus } from '../view/event-bus.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { GenericPleg } from './generic-pleg.ts';
import type { PodCache } from './pod-cache.ts';

interface Deps {
  pleg: GenericPleg;
  cache: PodCache;
  /** Removals of ended pods. The pods' remains do not count as news. */
  remains: {
    removalOf(uid: string): Promise<unknown> | undefined;
    /** Resolves with true if the removal was made, for a pod that cannot start before. */
    finishFreshRemoval(uid: string): Promise<boolean>;
  };
  events: EventBus;
  clock: Clock;
  /** Ends every look. */
  stopped: AbortSignal;
}

/** Syncs of one pod. Times are the starts of syncs that keep the pod running. */
interface PodSyncs {
  /** True if our own action changed the pod since its last sync ended. */
  hasChanged: boolean;
  /** Start of the sync in flight. */
  begunAtMonotonic?: number;
  /** Start of the last sync, if it changed nothing. */
  unchangedSinceMonotonic?: number;
}

/** Looks at single pods between relists: after our own actions, and for callers that would wait for a relist. */
export class PodNews {
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

  /** Records that our own action changed the pod. It is looked at when the sync in flight ends. */
  changed(uid: string): void {
    this.syncsOf(uid).hasChanged = true;
  }

  /**
   * The status of the pod, read after its last sync ended. If that sync changed nothing, a read after its start is
   * enough. kubelet: the end counts always, pod_workers.go podWorkerLoop
   */
  async getNewerThan(uid: string, lastSyncEndMonotonic: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { cache, clock, remains } = this.deps;
    let newerThanMonotonic = Math.min(lastSyncEndMonotonic, this.syncs.get(uid)?.unchangedSinceMonotonic ?? Infinity);
    for (let removal = remains.removalOf(uid); removal !== undefined; removal = remains.removalOf(uid)) {
      // The pod was declared again during its removal. The remains must not count as the new pod.
      await unlessAborted(removal, signal);
      newerThanMonotonic = clock.monotonic();
    }
    if (await unlessAborted(remains.finishFreshRemoval(uid), signal)) newerThanMonotonic = clock.monotonic();
    const status = cache.getNewerThan(uid, newerThanMonotonic, signal);
    if (!cache.hasNewerThan(uid, newerThanMonotonic)) void this.relist(uid);
    return status;
  }

  private syncFinished(uid: string, hasFailed: boolean): void {
    const { hasChanged, begunAtMonotonic } = this.syncsOf(uid);
    // One look after a sync with changes also serves the next sync. A failed sync may have changed the pod.
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
