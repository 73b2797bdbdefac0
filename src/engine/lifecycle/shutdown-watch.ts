import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { abortWith } from '../../flow/abort-with.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { type BackOffEntry, type BackOffLimits, nextBackOff } from '../../flow/back-off.ts';
import type { InhibitorLock, Logind, LogindConnection } from './logind.ts';
import type { NodeShutdown } from './node-shutdown.ts';

type Change = 'signal' | 'the system bus was lost' | 'the inhibitor lock was lost';

interface Deps {
  logind: Logind;
  nodeShutdown: Pick<NodeShutdown, 'begin' | 'cancel'>;
  /** Total time that pods need at a shutdown. */
  neededSeconds: number;
  clock: Clock;
  logger: Logger;
}

/** The kubelet retries every second: nodeshutdown_manager_linux.go dbusReconnectPeriod */
const retryLimits: BackOffLimits = { initialMs: 1000, maxMs: 60_000, resetAfterMs: 60_000 };
/** Delays in milliseconds between checks after a reload, because logind reloads asynchronously. */
const checksAfterReloadMs = [100, 400, 1500];

/**
 * Makes logind delay a shutdown of the machine until the pods have stopped, and reports shutdowns. kubelet:
 * nodeshutdown/nodeshutdown_manager_linux.go managerImpl
 *
 * INVARIANTS: signals are hints. The state is read from logind after each signal and each connect. The lock does not
 * need the connection: it is held until the pods have stopped at a shutdown, or the agent exits.
 */
export class ShutdownWatch {
  private changes = new AsyncQueue<Change>();
  private lock: InhibitorLock | undefined;
  private isConnected = false;
  /** The running shutdown. */
  private shutdown: object | undefined;
  private backOff: BackOffEntry | undefined;
  private lastWarning: string | undefined;

  constructor(private readonly deps: Deps) {}

  /** True if a shutdown of the machine would wait for the pods. */
  get isHolding(): boolean {
    return this.isConnected && this.lock !== undefined;
  }

  /** Watches until the signal is aborted, which also releases the lock. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    for (;;) {
      try {
        await this.watch(signal);
      } catch (error) {
        signal.throwIfAborted();
        this.warnOnce(error);
      }
      const nowMonotonic = clock.monotonic();
      this.backOff = nextBackOff(this.backOff, nowMonotonic, nowMonotonic, retryLimits);
      await clock.sleep(this.backOff.backOffMs, { signal });
    }
  }

  /** Rejects if the connection or the lock is lost. */
  private async watch(signal: AbortSignal): Promise<void> {
    const changes = new AsyncQueue<Change>();
    this.changes = changes;
    // Several signals cause one check.
    const onSignal = (): void => {
      if (changes.length === 0) changes.push('signal');
    };
    const ending = new AbortController();
    const release = abortWith(ending, signal);
    try {
      const connection = await this.deps.logind.connect(onSignal, ending.signal);
      void connection.closed.then(() => {
        changes.push('the system bus was lost');
      });
      const delaySeconds = await this.ensureDelay(connection, signal);
      for (;;) {
        await this.follow(await connection.isPreparingForShutdown(), delaySeconds, signal);
        this.logConnected(delaySeconds);
        const change = await changes.pull(signal);
        if (change !== 'signal') throw new Error(change);
      }
    } finally {
      this.isConnected = false;
      release();
      ending.abort();
    }
  }

  private async follow(isPreparing: boolean, delaySeconds: number, signal: AbortSignal): Promise<void> {
    const { nodeShutdown, logger } = this.deps;
    if (isPreparing) {
      if (this.shutdown === undefined) this.begin(delaySeconds);
      return;
    }
    if (this.shutdown !== undefined) {
      logger.info('The shutdown of the machine was cancelled');
      this.shutdown = undefined;
      nodeShutdown.cancel();
    }
    if (this.lock === undefined) await this.takeLock(signal);
  }

  private begin(delaySeconds: number): void {
    const { nodeShutdown, logger } = this.deps;
    logger.info('The machine shuts down');
    const shutdown = {};
    this.shutdown = shutdown;
    void nodeShutdown.begin(delaySeconds).then(() => {
      if (this.shutdown === shutdown) this.releaseLock();
    });
  }

  private async takeLock(signal: AbortSignal): Promise<void> {
    const lock = await this.deps.logind.inhibit(signal);
    this.lock = lock;
    void lock.released.then(() => {
      if (this.lock !== lock) return;
      this.lock = undefined;
      this.changes.push('the inhibitor lock was lost');
    });
  }

  private releaseLock(): void {
    const { lock } = this;
    this.lock = undefined;
    lock?.release();
  }

  /** Configures logind to wait as long as the pods need. Resolves with logind's effective delay in seconds. */
  private async ensureDelay(connection: LogindConnection, signal: AbortSignal): Promise<number> {
    const { logind, neededSeconds, clock, logger } = this.deps;
    let delaySeconds = await connection.inhibitDelaySeconds();
    if (delaySeconds >= neededSeconds) return delaySeconds;
    try {
      const file = await logind.configureInhibitDelay(neededSeconds);
      logger.info({ file, inhibitDelayMaxSeconds: neededSeconds }, 'Configured how long logind waits for the pods');
      await connection.reload();
    } catch (error) {
      logger.warn({ err: errorMessage(error) }, 'Configuring how long logind waits for the pods failed');
      return delaySeconds;
    }
    delaySeconds = await connection.inhibitDelaySeconds();
    for (const waitMs of checksAfterReloadMs) {
      if (delaySeconds >= neededSeconds) break;
      await clock.sleep(waitMs, { signal });
      delaySeconds = await connection.inhibitDelaySeconds();
    }
    return delaySeconds;
  }

  private logConnected(delaySeconds: number): void {
    if (this.isHolding || this.lock === undefined) return;
    this.isConnected = true;
    this.lastWarning = undefined;
    const { neededSeconds, logger } = this.deps;
    logger.info({ inhibitDelayMaxSeconds: delaySeconds }, 'logind waits for the pods when the machine shuts down');
    if (delaySeconds >= neededSeconds) return;
    logger.warn(
      { inhibitDelayMaxSeconds: delaySeconds, neededSeconds },
      'logind waits for less time than the pods need, so each gets less: raise InhibitDelayMaxSec in logind.conf',
    );
  }

  /** Logs a repeated error only once. */
  private warnOnce(error: unknown): void {
    const { logger } = this.deps;
    const err = errorMessage(error);
    if (err === this.lastWarning) return;
    this.lastWarning = err;
    if (hasCode(error, 'ENOENT')) logger.info('There is no system bus: pods are stopped only at SIGTERM');
    else logger.warn({ err }, 'logind does not wait for the pods, so they are stopped at SIGTERM; trying again');
  }
}
