import type { Clock } from '../clock.ts';
import { errorMessage, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import { type ContainerdEnd, type ContainerdExit, describeEnd, said } from './containerd-exit.ts';
import type { ContainerdHost, LaunchedContainerd } from './containerd-host.ts';

/**
 * INVARIANTS:
 * - At most one containerd runs with our configuration file. Whoever starts one looks for it first, and the host lets only
 *   one do so at a time, so a crash of this program at any instant leaves a containerd that the next start adopts.
 * - Only `stop` ends a containerd that answers. `release`, or our death, leaves it running.
 * - A start that fails or is aborted leaves nothing running that it launched, and lets go.
 * - The end of `#process` is handled once, by `#recover`, and not at all after `release`.
 */

/** What there is to be told of a containerd after its start. */
export interface SupervisionEvents {
  /** containerd ended although nobody asked it to. A restart follows. */
  readonly onExit?: (exit: ContainerdExit) => void;
  /** It answers again after `onExit`. */
  readonly onRestart?: (process: ProcessIdentity) => void;
  /** It could not be started again; the next attempt comes in `retryInMs`. */
  readonly onRestartFailed?: (failure: { error: unknown; retryInMs: number }) => void;
}

export interface ContainerdSupervisorDeps {
  readonly host: ContainerdHost;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes all ready for a launch. Called for each: a package upgrade may have put another release there since. */
  readonly prepare: () => Promise<PreparedLaunch>;
  readonly events: SupervisionEvents;
  /** What to tell a user whose containerd does not start. */
  readonly hint: string;
}

export interface PreparedLaunch {
  /** Path of the program. */
  readonly containerd: string;
  /** Sentences for the user about what will not work. */
  readonly warnings: readonly string[];
}

export interface SupervisedContainerd {
  readonly process: ProcessIdentity;
  /** True when it was running already. */
  readonly adopted: boolean;
  readonly warnings: readonly string[];
}

/** containerd with hundreds of containers to look after again on a slow disk takes this long. */
const readyTimeoutMs = 60_000;
/** An adopted one is up already, or in the middle of its start. */
const adoptTimeoutMs = 20_000;
const terminateTimeoutMs = 10_000;
/** There is no way to be told of the end of a process that is not our child. */
const exitPollMs = 10;

/** Finds or starts one containerd and keeps it running, until it is released or stopped. For one start. */
export class ContainerdSupervisor {
  readonly #deps: ContainerdSupervisorDeps;
  readonly #released = new AbortController();
  #process: ProcessIdentity | undefined;
  #unwatch: () => void = () => undefined;
  #startedAt = 0;
  #failuresInARow = 0;

  constructor(deps: ContainerdSupervisorDeps) {
    this.#deps = deps;
  }

  /** Aborted when we let go of containerd, by `release` or `stop`. */
  get released(): AbortSignal {
    return this.#released.signal;
  }

  /** The process that runs now; undefined between its end and its restart. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Adopts the containerd that runs or starts one, and resolves when it answers. */
  async start(signal: AbortSignal): Promise<SupervisedContainerd> {
    try {
      return await this.#bringUp(AbortSignal.any([signal, this.released]));
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Lets go: containerd runs on, for the next start to adopt. */
  release(): void {
    this.#released.abort(new Error('The managed containerd is released'));
    this.#unwatch();
  }

  /** Ends containerd, whoever started it. */
  async stop(): Promise<void> {
    this.release();
    const process = await this.#deps.host.find();
    if (process !== undefined) await this.#terminate(process);
    this.#process = undefined;
    await this.#deps.host.removeTraces();
  }

  async #bringUp(signal: AbortSignal): Promise<SupervisedContainerd> {
    for (;;) {
      const process = await this.#deps.host.find();
      const up = process === undefined ? await this.#launch(signal) : await this.#adopt(process, signal);
      // Who else wants it ended or started one meanwhile: then there is another one to find.
      if (up !== undefined) return up;
    }
  }

  async #adopt(process: ProcessIdentity, signal: AbortSignal): Promise<SupervisedContainerd | undefined> {
    const { host, logger } = this.#deps;
    const gone = new AbortController();
    const decided = new AbortController();
    void this.#isGoneWithin(process, adoptTimeoutMs, decided.signal).then((isGone) => {
      if (isGone) gone.abort(new Error('it ended'));
    });
    try {
      await host.untilReady({ signal: AbortSignal.any([signal, gone.signal]), timeoutMs: adoptTimeoutMs });
    } catch (error) {
      signal.throwIfAborted();
      if (gone.signal.aborted) return undefined;
      logger.warn({ pid: process.pid, err: error }, 'A containerd of an earlier run does not answer and is replaced');
      await this.#terminate(process);
      return undefined;
    } finally {
      decided.abort();
    }
    await host.record(process);
    signal.throwIfAborted();
    this.#began(process);
    this.#watchAdopted(process);
    return { process, adopted: true, warnings: [] };
  }

  async #launch(signal: AbortSignal): Promise<SupervisedContainerd | undefined> {
    const { host, prepare } = this.#deps;
    const { containerd, warnings } = await prepare();
    const launched = await this.#startingUp(signal, () => host.launch(containerd, signal));
    if (launched === undefined) return undefined;
    await this.#startingUp(signal, () => this.#untilAnswers(launched, signal));
    const { process, ended } = launched;
    this.#began(process);
    void ended.then((end) => this.#ended(process, end));
    return { process, adopted: false, warnings };
  }

  async #startingUp<T>(signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      signal.throwIfAborted();
      throw await this.#startFailure(error);
    }
  }

  /** One that does not answer, or that nobody wants any more, is gone afterwards. */
  async #untilAnswers({ process, ended }: LaunchedContainerd, signal: AbortSignal): Promise<void> {
    const { host } = this.#deps;
    const stillborn = new AbortController();
    void ended.then((end) => {
      stillborn.abort(new Error(describeEnd(end)));
    });
    try {
      await host.untilReady({ signal: AbortSignal.any([signal, stillborn.signal]), timeoutMs: readyTimeoutMs });
      signal.throwIfAborted();
    } catch (error) {
      await host.signal(process, 'SIGKILL');
      await ended;
      await host.removeTraces();
      throw error;
    }
  }

  async #startFailure(cause: unknown): Promise<UserError> {
    const said = (await this.#deps.host.lastLines()).map((line) => `\n  ${line}`).join('');
    return new UserError(`The managed containerd did not start: ${errorMessage(cause)}${said}`, {
      hint: this.#deps.hint,
      cause,
    });
  }

  #began(process: ProcessIdentity): void {
    this.#process = process;
    this.#startedAt = this.#deps.clock.monotonic();
  }

  #watchAdopted(process: ProcessIdentity): void {
    const { host } = this.#deps;
    let isLost = false;
    const lose = (): void => {
      if (isLost) return;
      isLost = true;
      this.#unwatch();
      void this.#connectionLost(process);
    };
    this.#unwatch = host.watchConnection(lose);
    // It may have ended a moment ago, and the connection is to another that took its place.
    void this.#isRunning(process).then((isRunning) => {
      if (!isRunning) lose();
    });
  }

  /** The connection ends a moment before the process is gone; or containerd dropped us and lives on. */
  async #connectionLost(process: ProcessIdentity): Promise<void> {
    const isGone = await this.#isGoneWithin(process, terminateTimeoutMs);
    if (isGone) await this.#ended(process, { code: undefined, signal: undefined });
    else if (!this.released.aborted) this.#watchAdopted(process);
  }

  async #ended({ pid }: ProcessIdentity, end: ContainerdEnd): Promise<void> {
    const lastLines = await this.#deps.host.lastLines();
    if (!this.released.aborted) await this.#recover({ pid, ...end, lastLines });
  }

  async #recover(exit: ContainerdExit): Promise<void> {
    const { clock, logger, events } = this.#deps;
    this.#process = undefined;
    this.#unwatch();
    const { lastLines, ...end } = exit;
    logger.warn({ ...end, ...said(exit) }, 'containerd ended and is started again');
    logger.debug({ lastLines }, 'The last lines of its log');
    events.onExit?.(exit);
    if (clock.monotonic() - this.#startedAt >= steadyRunMs) this.#failuresInARow = 0;
    try {
      do await clock.sleep(nextRestartDelayMs(this.#failuresInARow++), { signal: this.released });
      while (!(await this.#isBackUp()));
    } catch (error) {
      if (error !== this.released.reason) throw error;
    }
  }

  async #isBackUp(): Promise<boolean> {
    const { logger, events } = this.#deps;
    try {
      const { process } = await this.#bringUp(this.released);
      logger.info({ pid: process.pid }, 'containerd answers again');
      events.onRestart?.(process);
      return true;
    } catch (error) {
      this.released.throwIfAborted();
      const retryInMs = nextRestartDelayMs(this.#failuresInARow);
      logger.error({ err: error, retryInMs }, 'containerd could not be started again');
      events.onRestartFailed?.({ error, retryInMs });
      return false;
    }
  }

  async #terminate(process: ProcessIdentity): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await this.#deps.host.signal(process, signal);
      if (await this.#isGoneWithin(process, terminateTimeoutMs)) return;
    }
    throw new Error(`containerd (pid ${String(process.pid)}) does not end, not even by SIGKILL`);
  }

  /** What cannot be looked at now, as when no descriptor is left, counts as running: a second one must not be started. */
  async #isRunning(process: ProcessIdentity): Promise<boolean> {
    try {
      return await this.#deps.host.isRunning(process);
    } catch (error) {
      this.#deps.logger.warn({ pid: process.pid, err: errorMessage(error) }, 'containerd cannot be looked at');
      return true;
    }
  }

  /** False after the time, or when nobody needs to know any more. */
  async #isGoneWithin(process: ProcessIdentity, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps;
    const deadline = clock.monotonic() + timeoutMs;
    while (await this.#isRunning(process)) {
      if (clock.monotonic() >= deadline || signal?.aborted === true) return false;
      await clock.sleep(exitPollMs);
    }
    return true;
  }
}

const longestDelayMs = 30_000;
/** A run this long ends a series of failures. */
const steadyRunMs = 60_000;

/** How long to wait before containerd is started again after it ended: at once, then 0.5 s doubling up to 30 s. */
export function nextRestartDelayMs(failuresInARow: number): number {
  return failuresInARow === 0 ? 0 : Math.min(500 * 2 ** (failuresInARow - 1), longestDelayMs);
}
