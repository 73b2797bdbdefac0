import type { Clock } from '../clock.ts';
import { errorMessage, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ProcessIdentity } from '../process/process-identity.ts';
import { type ContainerdEnd, type ContainerdExit, describeExit, lastLogLine } from './containerd-exit.ts';
import type { ContainerdHost, LaunchedContainerd } from './containerd-host.ts';
import { maxProblemLines } from './containerd-log.ts';
import { DamagedStoreError, endOfLog, findStartProblem, remedyFor } from './start-problem.ts';

/**
 * INVARIANTS:
 * - At most one containerd runs with our configuration file. `start` looks for it first, and the host allows only one
 *   start at a time. So whenever this program crashes, the next run adopts the containerd.
 * - Only `stop` ends a containerd that answers, and `start` if what it started with has changed. After `release`, or if
 *   we die, it keeps running.
 * - If `start` fails or is aborted, it kills the containerd that it launched, and releases it.
 * - `#recover` runs once when `#process` exits, and never after `release`.
 */

/** Callbacks about a containerd that has started. */
export interface SupervisionEvents {
  /** containerd exited unexpectedly. A restart follows. */
  readonly onExit?: (exit: ContainerdExit) => void;
  /** containerd answers again after `onExit`. */
  readonly onRestart?: (process: ProcessIdentity, warnings: readonly string[]) => void;
  /** A restart failed. The next attempt follows in `retryInMs`. */
  readonly onRestartFailed?: (failure: { error: unknown; retryInMs: number }) => void;
}

export interface ContainerdSupervisorDeps {
  readonly host: ContainerdHost;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Prepares a launch. Called for each launch, because a package upgrade may have installed another release. */
  readonly prepare: () => Promise<PreparedLaunch>;
  /** Returns what a running containerd did not get, because it changed after its start. By default, nothing. */
  readonly changesOf?: (process: ProcessIdentity) => Promise<LaunchChanges>;
  readonly events: SupervisionEvents;
  readonly rootDir: string;
  /** Hint for the user if containerd does not start. */
  readonly hint: string;
  /**
   * Called if containerd does not start because its store is damaged, while none is started. Returns true if it set the
   * store aside, so that containerd is worth another start.
   */
  readonly onDamagedStore: (error: DamagedStoreError) => Promise<boolean>;
}

export interface PreparedLaunch {
  /** Path of the executable. */
  readonly containerd: string;
  /** Sentences that tell the user which features will not work. */
  readonly warnings: readonly string[];
  /** Prepares a launch without what the user added, for when containerd does not start with it. */
  readonly plainer?: (failure: UserError) => Promise<PreparedLaunch>;
}

/** What a containerd would get if it was launched now. It is restarted if there are changes. */
export interface LaunchChanges {
  readonly changes: readonly string[];
  /** Sentences that tell the user which features of the running one do not work. */
  readonly warnings: readonly string[];
}

export interface SupervisedContainerd {
  readonly process: ProcessIdentity;
  /** True if it was already running. */
  readonly adopted: boolean;
  readonly warnings: readonly string[];
}

/** Milliseconds: enough for a containerd that recovers hundreds of containers from a slow disk. */
const readyTimeoutMs = 60_000;
/** Milliseconds: an adopted containerd is already up, or starting. */
const adoptTimeoutMs = 20_000;
const terminateTimeoutMs = 10_000;
/** Milliseconds. Polled, because nothing reports the exit of a process that is not our child. */
const exitPollMs = 10;

/** Finds or starts a containerd and keeps it running until it is released or stopped. `start` may be called once. */
export class ContainerdSupervisor {
  private readonly releasing = new AbortController();
  private process: ProcessIdentity | undefined;
  private unwatch: () => void = () => undefined;
  private startedAtMonotonic = 0;
  private failuresInARow = 0;

  constructor(private readonly deps: ContainerdSupervisorDeps) {}

  /** Aborted by `release` or `stop`. */
  get released(): AbortSignal {
    return this.releasing.signal;
  }

  /** PID of the running process. Undefined after it has exited, until it is restarted. */
  get pid(): number | undefined {
    return this.process?.pid;
  }

  /** Adopts the running containerd or starts one. Resolves when it answers. */
  async start(signal: AbortSignal): Promise<SupervisedContainerd> {
    try {
      return await this.bringUp(AbortSignal.any([signal, this.released]));
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Stops supervising. containerd keeps running, and the next run adopts it. */
  release(): void {
    this.releasing.abort(new Error('The managed containerd is released'));
    this.unwatch();
  }

  /** Stops containerd, even one that another process started. Returns false if none was running. */
  async stop(): Promise<boolean> {
    this.release();
    const process = await this.deps.host.find();
    if (process !== undefined) await this.terminate(process);
    this.process = undefined;
    // They do no harm. On a read-only disk they stay.
    await this.deps.host.removeTraces().catch((error: unknown) => {
      this.deps.logger.warn({ err: errorMessage(error) }, 'Removing the sockets of containerd failed');
    });
    return process !== undefined;
  }

  /** Stops containerd, runs `work` while none runs, and starts it again. */
  async renew(signal: AbortSignal, work: () => Promise<void>): Promise<SupervisedContainerd> {
    await this.halt(signal, work);
    return this.bringUp(AbortSignal.any([signal, this.released]));
  }

  /** Stops containerd and runs `work` while none runs. Only a supervisor in another process starts it again. */
  async halt(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    this.unwatch();
    // Its exit is ours, so nothing restarts it.
    this.process = undefined;
    do {
      signal.throwIfAborted();
      const process = await this.deps.host.find();
      if (process !== undefined) await this.terminate(process);
      // The other supervisor may have started it again.
    } while (!(await this.deps.host.whileNoneRuns(work)));
  }

  private async bringUp(signal: AbortSignal): Promise<SupervisedContainerd> {
    for (let isRepaired = false; ;) {
      try {
        const process = await this.deps.host.find();
        const up = process === undefined ? await this.launch(signal) : await this.adopt(process, signal);
        // Another process stopped or started a containerd in the meantime, so there may be a different one to find.
        if (up !== undefined) return up;
      } catch (error) {
        if (isRepaired || !(error instanceof DamagedStoreError)) throw error;
        isRepaired = await this.isSetAside(error);
        if (!isRepaired) throw error;
      }
    }
  }

  private async isSetAside(damage: DamagedStoreError): Promise<boolean> {
    const { host, onDamagedStore } = this.deps;
    let isSetAside = false;
    await host.whileNoneRuns(async () => {
      isSetAside = await onDamagedStore(damage);
    });
    return isSetAside;
  }

  private async adopt(process: ProcessIdentity, signal: AbortSignal): Promise<SupervisedContainerd | undefined> {
    const { host, logger } = this.deps;
    const { changes, warnings } = (await this.deps.changesOf?.(process)) ?? { changes: [], warnings: [] };
    signal.throwIfAborted();
    if (changes.length > 0) {
      logger.info({ pid: process.pid, changes }, 'Restarting containerd to apply changes; pods keep running');
      await this.terminate(process);
      return undefined;
    }
    const exited = new AbortController();
    const decided = new AbortController();
    void this.exitsWithin(process, adoptTimeoutMs, decided.signal).then((hasExited) => {
      if (hasExited) exited.abort(new Error('it ended'));
    });
    try {
      await host.untilReady({ signal: AbortSignal.any([signal, exited.signal]), timeoutMs: adoptTimeoutMs });
    } catch (error) {
      signal.throwIfAborted();
      if (exited.signal.aborted) return undefined;
      logger.warn({ pid: process.pid, err: error }, 'A containerd of an earlier run does not answer and is replaced');
      await this.terminate(process);
      return undefined;
    } finally {
      decided.abort();
    }
    // Only a hint: without the record, the process is found by its command line.
    await host.record(process).catch((error: unknown) => {
      logger.debug({ err: errorMessage(error) }, 'Recording the pid of containerd failed');
    });
    signal.throwIfAborted();
    this.began(process);
    this.watchAdopted(process);
    return { process, adopted: true, warnings };
  }

  private async launch(signal: AbortSignal): Promise<SupervisedContainerd | undefined> {
    const prepared = await this.deps.prepare();
    try {
      return await this.launchPrepared(prepared, signal);
    } catch (error) {
      const { plainer } = prepared;
      if (plainer === undefined || !(error instanceof UserError) || error instanceof DamagedStoreError) throw error;
      return await this.launchPrepared(await plainer(error), signal);
    }
  }

  private async launchPrepared(
    { containerd, warnings }: PreparedLaunch,
    signal: AbortSignal,
  ): Promise<SupervisedContainerd | undefined> {
    const { host } = this.deps;
    const launched = await this.startingUp(signal, () => host.launch(containerd, signal));
    if (launched === undefined) return undefined;
    await this.startingUp(signal, () => this.untilAnswers(launched, signal));
    const { process, ended } = launched;
    this.began(process);
    void ended.then((end) => this.ended(process, end));
    return { process, adopted: false, warnings };
  }

  private async startingUp<T>(signal: AbortSignal, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      signal.throwIfAborted();
      throw await this.startFailure(error);
    }
  }

  /** Kills the containerd if it does not answer in time or `start` is aborted. */
  private async untilAnswers({ process, ended }: LaunchedContainerd, signal: AbortSignal): Promise<void> {
    const { host } = this.deps;
    const stillborn = new AbortController();
    void ended.then((end) => {
      stillborn.abort(new Error(describeExit(end)));
    });
    try {
      await host.untilReady({ signal: AbortSignal.any([signal, stillborn.signal]), timeoutMs: readyTimeoutMs });
      signal.throwIfAborted();
    } catch (error) {
      await host.signal(process, 'SIGKILL');
      // Polled, because waiting for `ended` would not keep this process alive.
      await this.exitsWithin(process, terminateTimeoutMs);
      await host.removeTraces();
      throw error;
    }
  }

  private async startFailure(cause: unknown): Promise<UserError> {
    const { host, hint, rootDir } = this.deps;
    const problem = findStartProblem(await host.lastLines(maxProblemLines));
    const lines = problem === undefined ? await host.lastLines() : [problem.line];
    const quoted = lines.map((line) => `\n  ${line}`).join('');
    const message = `The managed containerd did not start: ${errorMessage(cause)}${quoted}`;
    if (problem === undefined) return new UserError(message, { hint, cause });
    const options = { hint: remedyFor(problem, rootDir), cause };
    return problem.kind === 'damaged store' ? new DamagedStoreError(message, options) : new UserError(message, options);
  }

  private began(process: ProcessIdentity): void {
    this.process = process;
    this.startedAtMonotonic = this.deps.clock.monotonic();
  }

  private watchAdopted(process: ProcessIdentity): void {
    const { host } = this.deps;
    let isLost = false;
    const lose = (): void => {
      if (isLost) return;
      isLost = true;
      this.unwatch();
      void this.connectionLost(process);
    };
    this.unwatch = host.watchConnection(lose);
    // The process may have just exited, and the connection may be to its successor.
    void this.isRunning(process).then((isRunning) => {
      if (!isRunning) lose();
    });
  }

  /** The connection closes a moment before the process exits, or containerd dropped the connection and lives on. */
  private async connectionLost(process: ProcessIdentity): Promise<void> {
    const hasExited = await this.exitsWithin(process, terminateTimeoutMs);
    if (hasExited) await this.ended(process, { code: undefined, signal: undefined });
    else if (!this.released.aborted) this.watchAdopted(process);
  }

  private async ended(process: ProcessIdentity, end: ContainerdEnd): Promise<void> {
    if (this.process !== process) return;
    const { pid } = process;
    const lastLines = endOfLog(await this.deps.host.lastLines(maxProblemLines));
    if (!this.released.aborted && this.process === process) await this.recover({ pid, ...end, lastLines });
  }

  private async recover(exit: ContainerdExit): Promise<void> {
    const { clock, logger, events } = this.deps;
    this.process = undefined;
    this.unwatch();
    const { lastLines, ...end } = exit;
    logger.warn({ ...end, ...lastLogLine(exit) }, 'containerd exited; restarting it');
    logger.debug({ lastLines }, 'The last lines of its log');
    events.onExit?.(exit);
    if (clock.monotonic() - this.startedAtMonotonic >= steadyRunMs) this.failuresInARow = 0;
    try {
      do await clock.sleep(nextRestartDelayMs(this.failuresInARow++), { signal: this.released });
      while (!(await this.isBackUp()));
    } catch (error) {
      if (error !== this.released.reason) throw error;
    }
  }

  private async isBackUp(): Promise<boolean> {
    const { logger, events } = this.deps;
    try {
      const { process, warnings } = await this.bringUp(this.released);
      logger.info({ pid: process.pid }, 'containerd answers again');
      events.onRestart?.(process, warnings);
      return true;
    } catch (error) {
      this.released.throwIfAborted();
      const retryInMs = nextRestartDelayMs(this.failuresInARow);
      logger.error({ err: error, retryInMs }, 'Restarting containerd failed');
      events.onRestartFailed?.({ error, retryInMs });
      return false;
    }
  }

  private async terminate(process: ProcessIdentity): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await this.deps.host.signal(process, signal);
      if (await this.exitsWithin(process, terminateTimeoutMs)) return;
    }
    throw new Error(`containerd (pid ${String(process.pid)}) does not exit, even after SIGKILL`);
  }

  /**
   * True if the process is running, or if its state cannot be read, for example because we have no descriptors left: a
   * second one must not be started.
   */
  private async isRunning(process: ProcessIdentity): Promise<boolean> {
    try {
      return await this.deps.host.isRunning(process);
    } catch (error) {
      this.deps.logger.warn({ pid: process.pid, err: errorMessage(error) }, 'Cannot read the state of containerd');
      return true;
    }
  }

  /** Returns false after `timeoutMs`, or if aborted. */
  private async exitsWithin(process: ProcessIdentity, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const { clock } = this.deps;
    const deadline = clock.monotonic() + timeoutMs;
    while (await this.isRunning(process)) {
      if (clock.monotonic() >= deadline || signal?.aborted === true) return false;
      await clock.sleep(exitPollMs);
    }
    return true;
  }
}

const longestDelayMs = 30_000;
/** A run of at least this many milliseconds ends a series of failures. */
const steadyRunMs = 60_000;

/** Returns the delay before containerd is restarted: none at first, then 0.5 s, doubling up to 30 s. */
export function nextRestartDelayMs(failuresInARow: number): number {
  return failuresInARow === 0 ? 0 : Math.min(500 * 2 ** (failuresInARow - 1), longestDelayMs);
}
