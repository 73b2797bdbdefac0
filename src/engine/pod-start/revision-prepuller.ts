import type { Pod } from '../../api/types.ts';
import { abortWith } from '../../flow/abort-with.ts';
import type { Clock } from '../../clock.ts';
import { isCausedByUnavailable } from '../../cri/errors.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { SyncResult } from '../container/sync-result.ts';
import { backOffPeriodMs, transientBackOffMs } from '../pod-workers/next-sync-delay.ts';
import { SyncPodError, throwOnFailure } from '../pod-workers/sync-pod-error.ts';
import type { Emit } from '../view/event-bus.ts';
import { type PodEventRecorder, podEventRecorder } from '../view/event-recorder.ts';
import { reasons, runsOnUntilThen } from '../view/reasons.ts';
import type { ImageState } from './compute-pod-start.ts';
import { dropPull, type PodEntry } from './pod-entry.ts';

interface Deps {
  /** Pulls the pod's missing images. Resolves with results that include failures. */
  pull: (pod: Pod, recorder: PodEventRecorder, signal: AbortSignal) => Promise<SyncResult[]>;
  /** Called when all images of the pod are present. */
  onReady: (podUID: string) => void;
  emit: Emit;
  clock: Clock;
  logger: Logger;
  /** Cancels all pulls. */
  stopped: AbortSignal;
}

/** Called after each attempt. */
interface Listener {
  onResults?: (results: readonly SyncResult[]) => void;
  onFailure?: (error: unknown) => void;
}

/**
 * Pulls the images of revisions that may not start yet, so that no running pod is stopped for a revision that cannot
 * start. Retries failed pulls until the pod starts or is removed.
 */
export class RevisionPrepuller {
  constructor(private readonly deps: Deps) {}

  /**
   * Pulls the images of a revision of the pod, unless a pull is already running. Calls `onReady` when all are present.
   */
  start(entry: PodEntry, revision: Pod, listener: Listener): void {
    if (entry.pull?.revision === revision) return;
    dropPull(entry);
    const pull = { revision, isReady: false, abort: new AbortController() };
    entry.pull = pull;
    const release = abortWith(pull.abort, this.deps.stopped);
    void this.pullAll(revision, pull.abort.signal, listener).then((isReady) => {
      release();
      pull.isReady = isReady;
      if (isReady) this.deps.onReady(revision.metadata.uid);
    });
  }

  /** Resolves with false if aborted. */
  private async pullAll(pod: Pod, signal: AbortSignal, { onResults, onFailure }: Listener): Promise<boolean> {
    const { pull, clock, emit, logger } = this.deps;
    const recorder = podEventRecorder(emit, pod);
    for (;;) {
      try {
        const results = await pull(pod, recorder, signal);
        onResults?.(results);
        const missing = results.filter(({ error }) => error !== undefined).map(({ target }) => target);
        if (missing.length > 0)
          recorder.warning(reasons.replacementWaits, `No image for ${missing.join(', ')}: ${runsOnUntilThen}`);
        throwOnFailure(results, clock.monotonic());
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        onFailure?.(error);
        logger.warn(
          { pod: pod.metadata.name, err: errorMessage(error) },
          'A new revision waits for its images; retrying the pull',
        );
        await clock.sleep(retryDelay(error), { signal }).catch(() => undefined);
      }
    }
  }
}

/** State of the images of this revision. */
export function imageState({ pull }: PodEntry, revision: Pod): ImageState {
  if (pull?.revision !== revision) return 'unknown';
  return pull.isReady ? 'pulled' : 'pulling';
}

function retryDelay(error: unknown): number {
  if (isCausedByUnavailable(error)) return transientBackOffMs;
  return (error instanceof SyncPodError ? error.retryAfterMs : undefined) ?? backOffPeriodMs;
}
