import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { isCausedByUnavailable } from '../../cri/errors.ts';
import { errorMessage } from '../../errors.ts';
import { abortWith } from '../../abort-with.ts';
import type { Logger } from '../../logger.ts';
import { backOffPeriodMs, transientBackOffMs } from '../pod-workers/next-sync-delay.ts';
import { SyncPodError } from '../pod-workers/sync-pod-error.ts';
import type { ImageState } from './compute-pod-start.ts';

interface Deps {
  /** Pulls the pod's missing images. Rejects if one cannot be pulled now. */
  pullAhead: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** Called when all images of the pod are present. */
  onReady: (podUID: string) => void;
  clock: Clock;
  logger: Logger;
  /** Ends all pulls. */
  stopped: AbortSignal;
}

/**
 * Pulls the images of pods that may not start yet, so that no running pod is stopped for one that cannot start. Retries
 * failed pulls until the pod is forgotten.
 */
export class ImagesAhead {
  /** By UID. */
  private readonly pods = new Map<string, { pod: Pod; isReady: boolean; abort: AbortController }>();

  constructor(private readonly deps: Deps) {}

  /** Pulls the images of the pod unless that was started before. Calls `onReady` at the end. */
  start(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.pods.get(uid)?.pod === pod) return;
    this.forget(uid);
    const entry = { pod, isReady: false, abort: new AbortController() };
    this.pods.set(uid, entry);
    const release = abortWith(entry.abort, this.deps.stopped);
    void this.pull(pod, entry.abort.signal).then((isReady) => {
      release();
      entry.isReady = isReady;
      if (isReady) this.deps.onReady(uid);
    });
  }

  /** The images of the pod's current manifest. */
  stateOf(pod: Pod): ImageState {
    const known = this.pods.get(pod.metadata.uid);
    if (known?.pod !== pod) return 'unknown';
    return known.isReady ? 'pulled' : 'pulling';
  }

  /** Ends the pulls of a pod that started or was removed. */
  forget(podUID: string): void {
    this.pods.get(podUID)?.abort.abort(new Error('the pod no longer needs its images pulled'));
    this.pods.delete(podUID);
  }

  /** Resolves with false if it was aborted. */
  private async pull(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { pullAhead, clock, logger } = this.deps;
    for (;;) {
      try {
        await pullAhead(pod, signal);
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        logger.warn(
          { pod: pod.metadata.name, err: errorMessage(error) },
          'A new revision waits for its images, the pull is tried again',
        );
        await clock.sleep(retryDelay(error), { signal }).catch(() => undefined);
      }
    }
  }
}

function retryDelay(error: unknown): number {
  if (isCausedByUnavailable(error)) return transientBackOffMs;
  return (error instanceof SyncPodError ? error.retryAfterMs : undefined) ?? backOffPeriodMs;
}
