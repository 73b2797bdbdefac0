import type { Clock } from '../../clock.ts';
import { asOriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type { ManifestProblem } from '../../engine/view/events.ts';
import type { ReportedEngine, StatusURLSnapshot } from '../../engine/view/snapshot.ts';
import type { Logger } from '../../logger.ts';
import { eachFailureOnce } from '../log/repeated-failures.ts';
import type { EventQueue } from './event-queue.ts';
import { afterPost, nextPostDelayMs, type PostOutcome, type PostState, startState } from './next-post.ts';
import { statusReport } from './status-report.ts';

/** Posts a body. Resolves with warnings once the server has accepted it. Rejects with an OriginFailure. */
export type Post = (body: string, signal: AbortSignal) => Promise<readonly ManifestProblem[]>;

interface Deps {
  /** The URL without secrets. */
  where: string;
  post: Post;
  queue: EventQueue;
  /** Another one while events cannot be saved. */
  eventLogID: () => string;
  /** Called when what must survive a restart has changed. */
  save: () => Promise<void>;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
}

/** Posts the status to one URL. Logs when the server stops and begins to accept it. */
export class StatusURL {
  readonly where: string;
  private state: PostState;
  /** When the first change after the last post occurred. */
  private changedAtMonotonic: number | undefined;
  private wake = (): void => undefined;
  /** Writes each warning about credentials once. */
  private readonly warnings: Logger;

  constructor(
    private readonly deps: Deps,
    accepted: Pick<PostState, 'acceptedSequence' | 'acceptedAt'>,
  ) {
    const { where, clock, random, logger } = deps;
    this.where = where;
    this.warnings = eachFailureOnce(logger, clock);
    this.state = startState(accepted, { nowMonotonic: clock.monotonic(), random: random() });
  }

  /** The part of its state that survives a restart. */
  get accepted(): Pick<PostState, 'acceptedSequence' | 'acceptedAt'> {
    return this.state;
  }

  snapshot(): StatusURLSnapshot {
    const { acceptedAt, failure } = this.state;
    return { where: this.where, ...(acceptedAt !== undefined && { acceptedAt }), ...(failure && { failure }) };
  }

  /** Reports that the next post is due earlier. */
  changed(): void {
    if (this.changedAtMonotonic !== undefined) return;
    this.changedAtMonotonic = this.deps.clock.monotonic();
    this.wake();
  }

  /** Posts until the signal is aborted. */
  async run(engine: ReportedEngine, signal: AbortSignal): Promise<void> {
    const { clock, queue } = this.deps;
    while (!signal.aborted) {
      const hasEvents = queue.newestSequence > this.state.acceptedSequence;
      const changes = { changedAtMonotonic: this.changedAtMonotonic, hasEvents };
      const delayMs = nextPostDelayMs(this.state, changes, clock.monotonic());
      if (delayMs > 0) await this.pause(delayMs, signal);
      else await this.post(engine, signal);
    }
  }

  /** Waits until a change, the time is over or the signal is aborted. */
  private async pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = withResolver();
    this.wake = resolve;
    const cancel = this.deps.clock.after(ms, resolve);
    signal.addEventListener('abort', resolve, { once: true });
    await promise;
    cancel();
    signal.removeEventListener('abort', resolve);
  }

  private async post(engine: ReportedEngine, signal: AbortSignal): Promise<void> {
    const { clock, queue, eventLogID, random, save } = this.deps;
    this.changedAtMonotonic = undefined;
    const batch = queue.after(this.state.acceptedSequence);
    const body = statusReport(engine, { ...batch, eventLogID: eventLogID(), sentAt: clock.now() });
    const outcome = await this.outcomeOf(body, batch.lastSequence, signal);
    if (signal.aborted) return;
    const before = this.state;
    this.state = afterPost(before, outcome, { now: clock.now(), nowMonotonic: clock.monotonic(), random: random() });
    this.log(before);
    const hasBegunToFail = before.failure === undefined && this.state.failure !== undefined;
    if (hasBegunToFail || this.state.acceptedSequence !== before.acceptedSequence) await save();
  }

  private async outcomeOf(body: string, acceptedSequence: number, signal: AbortSignal): Promise<PostOutcome> {
    try {
      for (const { origin, message, hint } of await this.deps.post(body, signal)) {
        this.warnings.warn({ origin, hint }, message);
      }
      return { acceptedSequence };
    } catch (error) {
      const { message, hint, retryAfterMs } = asOriginFailure(error);
      return { failed: { message, hint }, retryAfterMs };
    }
  }

  private log({ failure: before, acceptedAt }: PostState): void {
    const { where, state, deps } = this;
    const { failure } = state;
    if (before === undefined && failure !== undefined) {
      const { message, hint } = failure;
      deps.logger.warn({ url: where, err: message, hint }, 'The status was not accepted; events are kept until it is');
    } else if (failure === undefined && (before !== undefined || acceptedAt === undefined)) {
      deps.logger.info({ url: where }, 'The status is accepted');
    }
  }
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}
