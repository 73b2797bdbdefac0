import type { Pod } from '../api/types.ts';
import type { Clock } from '../clock.ts';
import type { SyncResult } from './container/sync-result.ts';
import { type PullAheadDeps, pullAhead } from './kuberuntime/pull-ahead.ts';
import type { PodStatuses } from './pod-statuses.ts';
import { throwOnFailure } from './pod-workers/sync-pod-error.ts';
import type { ReasonCache } from './status/reason-cache.ts';
import type { Emit } from './view/event-bus.ts';
import { type PodEventRecorder, podEventRecorder } from './view/event-recorder.ts';
import { reasons, runsOnUntilThen } from './view/reasons.ts';

interface Deps extends PullAheadDeps {
  statuses: Pick<PodStatuses, 'update'>;
  reasonCache: ReasonCache;
  clock: Clock;
  emit: Emit;
}

/** The images of a pod's next revision, while the earlier one runs. */
export class RevisionImages {
  constructor(private readonly deps: Deps) {}

  /**
   * Pulls the images of a pod that waits for its earlier revision. Rejects if a pull failed. Then the status shows the
   * failure and that the earlier revision still runs.
   */
  async pullAhead(pod: Pod, signal: AbortSignal): Promise<void> {
    const { statuses, reasonCache, clock, emit } = this.deps;
    const { uid, name, namespace } = pod.metadata;
    const recorder = podEventRecorder(emit, pod);
    const results = (await pullAhead(this.deps, pod, recorder, signal)).map((result) =>
      result.error === undefined ? result : { ...result, message: `${result.message ?? ''}; ${runsOnUntilThen}` },
    );
    reasonCache.update(uid, results);
    statuses.update(pod, { uid, name, namespace, ips: [], containerStatuses: [], sandboxStatuses: [] }, false);
    this.reportMissingImages(results, recorder);
    throwOnFailure(results, clock.monotonic());
  }

  /** Pulls the images of a running pod's next revision. Rejects if a pull failed. The status stays. */
  async pullForUpdate(pod: Pod, signal: AbortSignal): Promise<void> {
    const { clock, emit } = this.deps;
    const recorder = podEventRecorder(emit, pod);
    const results = await pullAhead(this.deps, pod, recorder, signal);
    this.reportMissingImages(results, recorder);
    throwOnFailure(results, clock.monotonic());
  }

  private reportMissingImages(results: readonly SyncResult[], recorder: PodEventRecorder): void {
    const missing = results.filter(({ error }) => error !== undefined).map(({ target }) => target);
    if (missing.length > 0)
      recorder.warning(reasons.replacementWaits, `No image for ${missing.join(', ')}: ${runsOnUntilThen}`);
  }
}
