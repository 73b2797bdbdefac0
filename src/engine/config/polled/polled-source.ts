import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { CheckSchedule } from './next-check-delay.ts';
import type { PodSource, SourceUpdate } from '../pod-source.ts';
import { type Check, RemoteManifest, type RemoteManifestOptions } from './remote-manifest.ts';

/** Wait for the first answer before the manifest of the last run is used. */
const firstAnswerMs = 2000;

interface Deps extends RemoteManifestOptions {
  /** Milliseconds between requests. kubelet: httpCheckFrequency */
  httpCheckFrequencyMs: number;
  clock: Clock;
  /** The fraction of that time by which this node's requests are shifted, in [0, 1). */
  phase: number;
  /** Uniform in [0, 1). */
  random: () => number;
}

/**
 * Pods from a URL or another origin that is polled. If the origin does not answer, the source declares the manifest of
 * the last run. If there is none, the source is not ready. kubelet: config/http.go NewSourceURL
 */
export class PolledSource implements PodSource {
  readonly source = 'http';
  readonly where: string;
  private readonly manifest: RemoteManifest;
  private handedOver: SourceUpdate | undefined;

  constructor(private readonly deps: Deps) {
    this.manifest = new RemoteManifest(deps);
    this.where = this.manifest.where;
  }

  async run(sink: Parameters<PodSource['run']>[0], signal: AbortSignal): Promise<void> {
    const { clock, httpCheckFrequencyMs: intervalMs, phase, random } = this.deps;
    await this.manifest.restore();
    const stopWaiting = this.withoutAnswer(sink);
    const schedule = new CheckSchedule({ intervalMs, phase }, random);
    for (;;) {
      const check = await this.manifest.check(signal);
      stopWaiting();
      this.report(sink, check);
      await clock.sleep(schedule.next(check, clock.now()), { signal });
    }
  }

  /**
   * Reports the manifest of the last run if the server does not answer within `firstAnswerMs`. Returns a function that
   * cancels this.
   */
  private withoutAnswer(sink: Parameters<PodSource['run']>[0]): () => void {
    if (this.manifest.declared === undefined) return () => undefined;
    return this.deps.clock.after(firstAnswerMs, () => {
      const hint = 'The request is repeated automatically.';
      const problem = this.manifest.problem('warning', 'the server has not answered yet', hint);
      this.report(sink, { problems: [problem], warnings: [] });
    });
  }

  private report({ onProblems, onUpdate }: Parameters<PodSource['run']>[0], { problems, warnings }: Check): void {
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
