import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { AsyncQueue } from '../../flow/async-queue.ts';
import { type BackOffEntry, type BackOffLimits, nextBackOff } from '../../flow/back-off.ts';
import type { InhibitorLock, Logind, LogindConnection } from './logind.ts';
import type { NodeShutdown } from './node-shutdown.ts';

type Change = 'signal' | 'the system bus was lost' | 'the inhibitor lock was lost';

interface Deps {
  logind: Logind;
  nodeShutdown: Pick<NodeShutdown, 'begin' | 'cancel'>;
  /** All the time that pods have at a shutdown. */
  neededSeconds: number;
  clock: Clock;
  logger: Logger;
}

/** The kubelet tries again every second: nodeshutdown_manager_linux.go dbusReconnectPeriod */
const retryLimits: BackOffLimits = { initialMs: 1000, maxMs: 60_000, resetAfterMs: 60_000 };
/** logind reads its configuration in its own time: milliseconds between looks at what came of it. */
const looksAfterReloadMs = [100, 400, 1500];

/**
 * Has logind hold up a shutdown of the machine until the pods ended, and notices when there is one.
 * kubelet: nodeshutdown/nodeshutdown_manager_linux.go managerImpl
 *
 * INVARIANTS: signals are hints; what is so is read from logind, after each of them and after each connect. The lock does not
 * need the connection: it is held until the pods of a shutdown ended, or we did.
 */
export class ShutdownWatch {
  private readonly deps: Deps;
  private changes = new AsyncQueue<Change>();
  private lock: InhibitorLock | undefined;
  private isConnected = false;
  /** The shutdown that is under way. */
  private shutdown: object | undefined;
  private backOff: BackOffEntry | undefined;
  private lastComplaint: string | undefined;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** A shutdown of the machine would wait until we ended the pods. */
  get isHolding(): boolean {
    return this.isConnected && this.lock !== undefined;
  }

  /** Watches until the signal is aborted, which lets go of the lock too. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    for (;;) {
      try {
        await this.watch(signal);
      } catch (error) {
        signal.throwIfAborted();
        this.complain(error);
      }
      const now = clock.monotonic();
      this.backOff = nextBackOff(this.backOff, now, now, retryLimits);
      await clock.sleep(this.backOff.backOffMs, { signal });
    }
  }

  /** Rejects when the connection or the lock is lost. */
  private async watch(signal: AbortSignal): Promise<void> {
    const changes = new AsyncQueue<Change>();
    this.changes = changes;
    // However many come, one look is to come.
    const onSignal = (): void => {
      if (changes.length === 0) changes.push('signal');
    };
    const ending = new AbortController();
    try {
      const connection = await this.deps.logind.connect(onSignal, AbortSignal.any([signal, ending.signal]));
      void connection.closed.then(() => {
        changes.push('the system bus was lost');
      });
      const delaySeconds = await this.ensureDelay(connection, signal);
      for (;;) {
        await this.follow(await connection.isPreparingForShutdown(), delaySeconds, signal);
        this.noteConnected(delaySeconds);
        const change = await changes.pull(signal);
        if (change !== 'signal') throw new Error(change);
      }
    } finally {
      this.isConnected = false;
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
      logger.info('The shutdown of the machine was called off');
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
      if (this.shutdown === shutdown) this.letGo();
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

  private letGo(): void {
    const { lock } = this;
    this.lock = undefined;
    lock?.release();
  }

  /** Resolves to how long logind waits, in seconds, after it was told to wait as long as pods have. */
  private async ensureDelay(connection: LogindConnection, signal: AbortSignal): Promise<number> {
    const { logind, neededSeconds, clock, logger } = this.deps;
    let delaySeconds = await connection.inhibitDelaySeconds();
    if (delaySeconds >= neededSeconds) return delaySeconds;
    try {
      const file = await logind.configureInhibitDelay(neededSeconds);
      logger.info({ file, inhibitDelayMaxSeconds: neededSeconds }, 'Told logind how long to wait for the pods');
      await connection.reload();
    } catch (error) {
      logger.warn({ err: errorMessage(error) }, 'logind could not be told how long to wait for the pods');
      return delaySeconds;
    }
    delaySeconds = await connection.inhibitDelaySeconds();
    for (const waitMs of looksAfterReloadMs) {
      if (delaySeconds >= neededSeconds) break;
      await clock.sleep(waitMs, { signal });
      delaySeconds = await connection.inhibitDelaySeconds();
    }
    return delaySeconds;
  }

  private noteConnected(delaySeconds: number): void {
    if (this.isHolding || this.lock === undefined) return;
    this.isConnected = true;
    this.lastComplaint = undefined;
    const { neededSeconds, logger } = this.deps;
    logger.info({ inhibitDelayMaxSeconds: delaySeconds }, 'logind waits for the pods when the machine shuts down');
    if (delaySeconds >= neededSeconds) return;
    logger.warn(
      { inhibitDelayMaxSeconds: delaySeconds, neededSeconds },
      'logind waits for a shorter time than the pods have: each gets less. InhibitDelayMaxSec in logind.conf makes it longer',
    );
  }

  /** Once as long as nothing changes. */
  private complain(error: unknown): void {
    const { logger } = this.deps;
    const err = errorMessage(error);
    if (err === this.lastComplaint) return;
    this.lastComplaint = err;
    if (hasCode(error, 'ENOENT')) logger.info('There is no system bus: pods are ended at SIGTERM alone');
    else logger.warn({ err }, 'logind does not wait for the pods, they are ended at SIGTERM; trying again');
  }
}
