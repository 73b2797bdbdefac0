import type { Pod } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import { isCausedByUnavailable } from '../cri/errors.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { backOffPeriodMs, transientBackOffMs } from './pod-workers/next-sync-delay.ts';
import { SyncPodError } from './pod-workers/sync-pod-error.ts';

interface Deps {
  /** Pulls what the pod lacks; rejects when something cannot be had now. */
  pullAhead: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** The images of the pod are there. */
  onReady: (podUID: string) => void;
  clock: Clock;
  logger: Logger;
  /** Ends what is under way. */
  stopped: AbortSignal;
}

/**
 * Has the images of pods pulled that may not start yet, so that nothing is stopped for a pod that cannot start. Images that
 * cannot be had are tried again and again, until the pod is forgotten.
 */
export class ImagesAhead {
  private readonly deps: Deps;
  /** By UID. */
  private readonly pods = new Map<string, { pod: Pod; isReady: boolean; abort: AbortController }>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Pulls the images of the pod, unless it did or does; `onReady` reports the end. */
  start(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.pods.get(uid)?.pod === pod) return;
    this.forget(uid);
    const entry = { pod, isReady: false, abort: new AbortController() };
    this.pods.set(uid, entry);
    void this.pull(pod, AbortSignal.any([entry.abort.signal, this.deps.stopped])).then((isReady) => {
      entry.isReady = isReady;
      if (isReady) this.deps.onReady(uid);
    });
  }

  /** True if the images of the pod, as its manifest is now, were pulled. */
  areThere(pod: Pod): boolean {
    const known = this.pods.get(pod.metadata.uid);
    return known?.pod === pod && known.isReady;
  }

  /** True if pulling for this pod was started, and it was not forgotten since. */
  has(podUID: string): boolean {
    return this.pods.has(podUID);
  }

  /** True if images of the pod, as its manifest is now, are still being pulled. */
  isPulling(pod: Pod): boolean {
    const known = this.pods.get(pod.metadata.uid);
    return known?.pod === pod && !known.isReady;
  }

  /** The pod has started, or is not wanted any more. */
  forget(podUID: string): void {
    this.pods.get(podUID)?.abort.abort(new Error('the pod is not waited for any more'));
    this.pods.delete(podUID);
  }

  /** Resolves to false if it was aborted. */
  private async pull(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { pullAhead, clock, logger } = this.deps;
    for (;;) {
      try {
        await pullAhead(pod, signal);
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        logger.warn({ pod: pod.metadata.name, err: errorMessage(error) }, 'A new revision waits for its images');
        await clock.sleep(retryDelay(error), { signal }).catch(() => undefined);
      }
    }
  }
}

function retryDelay(error: unknown): number {
  if (isCausedByUnavailable(error)) return transientBackOffMs;
  return (error instanceof SyncPodError ? error.retryAfterMs : undefined) ?? backOffPeriodMs;
}
