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
  remains: PodRemains;
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

  constructor(deps: Deps) {
    this.deps = deps;
    // One look after the sync that changed a pod is news enough for the next sync too.
    deps.events.subscribe((event) => {
      if (event.type === 'SyncFinished' && this.changedPods.delete(event.pod.uid)) void this.relist(event.pod.uid);
    });
  }

  relist(uid: string): Promise<void> {
    return this.deps.pleg.relistPod(uid, this.deps.stopped);
  }

  /** Our own action changed the pod: it is looked at once the sync in flight ends. */
  changed(uid: string): void {
    this.changedPods.add(uid);
  }

  /** The status of the pod as it was read after `newerThan`, in milliseconds of the monotonic clock. */
  async getNewerThan(uid: string, newerThan: number, signal: AbortSignal): Promise<RuntimePodStatus> {
    const { cache, clock, remains } = this.deps;
    const removal = remains.removalOf(uid);
    if (removal !== undefined) {
      // Declared again while the remains of its last run go: those must not be taken for the new one.
      await unlessAborted(removal, signal);
      return this.getNewerThan(uid, clock.monotonic(), signal);
    }
    const status = cache.getNewerThan(uid, newerThan, signal);
    if (!cache.hasNewerThan(uid, newerThan)) void this.relist(uid);
    return status;
  }
}
