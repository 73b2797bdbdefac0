import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import type { HTTPFailureKind } from './http-failure.ts';
import { nextCheckDelayMs } from './next-check-delay.ts';
import type { PodSource, SourceUpdate } from '../pod-source.ts';
import { type Check, RemoteManifest, type RemoteManifestOptions } from './remote-manifest.ts';

/** How long the first answer is waited for before what the last run knew is handed over. */
const firstAnswerMs = 2000;

interface Deps extends RemoteManifestOptions {
  /** Milliseconds between requests. kubelet: httpCheckFrequency */
  httpCheckFrequencyMs: number;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
}

/**
 * Pods from a URL, asked again and again. Without a server it declares what the last run knew, at once; when there is
 * nothing like that either, the source is not ready. kubelet: config/http.go NewSourceURL
 */
export class HTTPSource implements PodSource {
  readonly source = 'http';
  readonly where: string;
  private readonly deps: Deps;
  private readonly manifest: RemoteManifest;
  private handedOver: SourceUpdate | undefined;

  constructor(deps: Deps) {
    this.deps = deps;
    this.manifest = new RemoteManifest(deps);
    this.where = this.manifest.where;
  }

  async run(sink: Parameters<PodSource['run']>[0], signal: AbortSignal): Promise<void> {
    const { clock, httpCheckFrequencyMs, random } = this.deps;
    await this.manifest.restore();
    const stopWaiting = this.withoutAnswer(sink);
    let failure: HTTPFailureKind | undefined;
    let failuresInARow = 0;
    let floods = 0;
    for (;;) {
      const check = await this.manifest.check(signal);
      stopWaiting();
      this.tell(sink, check);
      failuresInARow = check.failure === failure ? failuresInARow + 1 : 1;
      failure = check.failure;
      if (failure === undefined) floods = 0;
      else if (failure === 'is a flood') failuresInARow = ++floods;
      const outcome = { failure, failuresInARow, retryAfterMs: check.retryAfterMs };
      await clock.sleep(nextCheckDelayMs(outcome, httpCheckFrequencyMs, random()), { signal });
    }
  }

  /** Hands over what the last run knew when the server takes its time. Returns how to stop that. */
  private withoutAnswer(sink: Parameters<PodSource['run']>[0]): () => void {
    if (this.manifest.declared === undefined) return () => undefined;
    return this.deps.clock.after(firstAnswerMs, () => {
      const hint = 'It is asked again by itself.';
      const problem = this.manifest.problem('warning', 'the server has not answered yet', hint);
      this.tell(sink, { problems: [problem], warnings: [] });
    });
  }

  private tell({ onProblems, onUpdate }: Parameters<PodSource['run']>[0], { problems, warnings }: Check): void {
    const { declared } = this.manifest;
    if (declared === undefined) {
      onProblems([...problems, ...warnings]);
      return;
    }
    const { update, confirmedAt } = declared;
    const all = [...problems, ...(problems.length > 0 ? [this.stale(confirmedAt)] : update.problems), ...warnings];
    if (update === this.handedOver) onProblems(all);
    else onUpdate({ ...update, problems: all });
    this.handedOver = update;
  }

  private stale(lastGoodAt: number): ManifestProblem {
    const hint = 'They change with the next good manifest.';
    return { ...this.manifest.problem('warning', 'pods stay as the server declared them last', hint), lastGoodAt };
  }
}
