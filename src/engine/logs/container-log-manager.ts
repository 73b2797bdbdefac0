import { lstat as lstatCalling, type Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import pLimit from 'p-limit';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { untilTick } from '../../flow/ticks.ts';
import type { Logger } from '../../logger.ts';
import { removeExcessLogs, rotateLog, tidyRotatedLogs } from './rotate-log.ts';

/** kubelet: logs/container_log_manager.go LogRotatePolicy */
export interface ContainerLogSettings {
  /** Logs of at least this size are rotated. Negative: none are. */
  maxSizeBytes: bigint;
  /** Number of files per log, including the log itself. At least 2. */
  maxFiles: number;
  /** How many logs have their rotated files compressed at a time. */
  maxWorkers: number;
  monitorIntervalMs: number;
}

interface LoggedContainer {
  id: string;
  name: string;
  podUID: string;
}

/** What is known about the log of a running container. */
interface WatchedLog {
  /** Undefined until the runtime has reported it. */
  path: string | undefined;
  isBeingChecked: boolean;
  /** Size at the last check. 0 after a rotation. */
  size: number;
  /** Undefined before the first check. */
  checkedAtMonotonic: number | undefined;
  bytesPerSecond: number;
  /** True if rotated files were not compressed because the log grew fast. */
  isUncompressed: boolean;
  /** The last logged failure, until a rotation without one. */
  failure: string | undefined;
}

/**
 * A log that would grow by more than this until the next check counts as fast. It is checked again once it may have
 * grown this much.
 */
const fastBytes = 32 * 1024 * 1024;
const fastPeriodMs = 500;

interface Deps {
  settings: ContainerLogSettings;
  runtime: Pick<RuntimeService, 'containerStatus' | 'reopenContainerLog'>;
  /** The running containers of our pods, in the runtime's last listing. */
  runningContainers: () => readonly LoggedContainer[];
  clock: Clock;
  logger: Logger;
}

/**
 * Rotates the logs of running containers that are too large. A check costs one `lstat` per container. Each container
 * needs one call to the runtime for the path of its log, and later only calls to reopen it. A fast log is also checked
 * in between, and is rotated without compression, because the log would grow faster than it compresses. kubelet:
 * logs/container_log_manager.go
 *
 * INVARIANTS: containers are checked independently, each at most once at a time, so a hung call does not delay other
 * containers. No worker is held while the runtime answers.
 */
export class ContainerLogManager {
  /** By container id. */
  private readonly logs = new Map<string, WatchedLog>();
  private readonly checks = new Set<Promise<void>>();
  private readonly worker: <T>(work: () => Promise<T>) => Promise<T>;

  constructor(private readonly deps: Deps) {
    this.worker = pLimit(deps.settings.maxWorkers);
  }

  /**
   * Checks at once, then after every interval, until the signal is aborted. Resolves at once if logs are not rotated.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, clock } = this.deps;
    if (settings.maxSizeBytes < 0n) return;
    try {
      for (;;) {
        this.check(signal);
        await clock.sleep(untilTick(clock, settings.monitorIntervalMs), { signal });
      }
    } finally {
      // Waits for renames that did not lead to a new log to be undone.
      await this.settled();
    }
  }

  /** Resolves once no log is being checked. */
  async settled(): Promise<void> {
    while (this.checks.size > 0) await Promise.all(this.checks);
  }

  private check(signal: AbortSignal): void {
    const running = this.deps.runningContainers();
    const ids = new Set(running.map(({ id }) => id));
    for (const id of this.logs.keys()) if (!ids.has(id)) this.logs.delete(id);
    const resting = running.filter(({ id }) => !this.logOf(id).isBeingChecked);
    const onWork = (container: LoggedContainer): void => {
      this.track(this.checkLog(container, this.logOf(container.id), signal));
    };
    this.track(this.measure(resting, onWork));
  }

  private track(work: Promise<void>): void {
    const check = work.finally(() => {
      this.checks.delete(check);
    });
    this.checks.add(check);
  }

  /**
   * Measures the logs, and calls back for each one that needs more work. Uses callbacks, because a promise for each log
   * takes twice the CPU, and nearly all logs are small.
   */
  private measure(containers: readonly LoggedContainer[], onWork: (container: LoggedContainer) => void): Promise<void> {
    return new Promise((resolve) => {
      let left = containers.length;
      const done = (container: LoggedContainer, stats?: Stats): void => {
        const log = this.logOf(container.id);
        log.isBeingChecked = false;
        if (stats !== undefined && this.isCalm(log, stats)) this.observe(log, stats.size);
        else onWork(container);
        left -= 1;
        if (left === 0) resolve();
      };
      if (left === 0) resolve();
      for (const container of containers) {
        const { path } = this.logOf(container.id);
        if (path === undefined || !isAbsolute(path)) done(container);
        else {
          this.logOf(container.id).isBeingChecked = true;
          lstatCalling(path, (error, stats) => {
            done(container, error === null ? stats : undefined);
          });
        }
      }
    });
  }

  /** True if only the size must be recorded. */
  private isCalm(log: WatchedLog, stats: Stats): boolean {
    const { size } = stats;
    const isSmall = stats.isFile() && BigInt(size) < this.deps.settings.maxSizeBytes;
    return isSmall && !log.isUncompressed && !this.isFast({ bytesPerSecond: this.rateTo(log, size) });
  }

  private logOf(id: string): WatchedLog {
    let log = this.logs.get(id);
    if (log === undefined) {
      const none = { path: undefined, checkedAtMonotonic: undefined, failure: undefined };
      log = { ...none, isBeingChecked: false, size: 0, bytesPerSecond: 0, isUncompressed: false };
      this.logs.set(id, log);
    }
    return log;
  }

  /** Checks the log once, or repeatedly if it is fast. Never rejects. */
  private async checkLog(container: LoggedContainer, log: WatchedLog, signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    log.isBeingChecked = true;
    try {
      log.path ??= await this.askPath(container.id, signal);
      // The runtime does not write this log to a file.
      if (!isAbsolute(log.path)) return;
      await this.maintain(container, log, log.path, signal);
      while (this.isFast(log)) {
        await clock.sleep(Math.max(fastPeriodMs, (fastBytes * 1000) / log.bytesPerSecond), { signal });
        if (!this.deps.runningContainers().some(({ id }) => id === container.id)) return;
        await this.maintain(container, log, log.path, signal);
      }
    } catch (error) {
      if (!signal.aborted) this.warnOnce(container, log, errorMessage(error));
    } finally {
      log.isBeingChecked = false;
    }
  }

  private async askPath(id: string, signal: AbortSignal): Promise<string> {
    const { status } = await this.deps.runtime.containerStatus({ containerId: id }, { signal });
    return status?.logPath ?? '';
  }

  private isFast({ bytesPerSecond }: Pick<WatchedLog, 'bytesPerSecond'>): boolean {
    return (bytesPerSecond * this.deps.settings.monitorIntervalMs) / 1000 > fastBytes;
  }

  private async maintain(
    container: LoggedContainer,
    log: WatchedLog,
    path: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { settings, clock, runtime } = this.deps;
    const reopen = (): Promise<unknown> => runtime.reopenContainerLog({ containerId: container.id }, { signal });
    const stats = await this.statOf(path, reopen);
    // cri-dockerd makes logs links to files, and Docker rotates those.
    if (stats.isSymbolicLink()) return;
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
    this.observe(log, stats.size);
    const isLarge = BigInt(stats.size) >= settings.maxSizeBytes;
    const isFast = this.isFast(log);
    let failure;
    if (isLarge && isFast) await removeExcessLogs(path, settings.maxFiles);
    else if (isLarge || (log.isUncompressed && !isFast)) {
      failure = await this.worker(async () => {
        signal.throwIfAborted();
        // Without a rotation, one more file can stay.
        return tidyRotatedLogs(path, settings.maxFiles + (isLarge ? 0 : 1), signal);
      });
      log.isUncompressed = false;
    }
    if (!isLarge) return;
    await rotateLog(path, clock.now(), reopen);
    log.size = 0;
    log.isUncompressed ||= isFast;
    if (failure === undefined) log.failure = undefined;
    else this.warnOnce(container, log, failure);
  }

  private observe(log: WatchedLog, size: number): void {
    log.bytesPerSecond = this.rateTo(log, size);
    log.checkedAtMonotonic = this.deps.clock.monotonic();
    log.size = size;
  }

  /** Returns how fast the log grew to this size. At the first check, assumes that it was empty one interval ago. */
  private rateTo(log: WatchedLog, size: number): number {
    const { settings, clock } = this.deps;
    const now = clock.monotonic();
    const sinceMonotonic = log.checkedAtMonotonic ?? now - settings.monitorIntervalMs;
    return (Math.max(0, size - log.size) * 1000) / Math.max(1, now - sinceMonotonic);
  }

  /**
   * Reads the log's stats. If the log was deleted, or a rotation was interrupted after the rename, has it reopened
   * first.
   */
  private async statOf(path: string, reopen: () => Promise<unknown>): Promise<Stats> {
    try {
      return await lstat(path);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      await reopen();
      return lstat(path);
    }
  }

  private warnOnce({ id, name, podUID }: LoggedContainer, log: WatchedLog, problem: string): void {
    if (log.failure === problem) return;
    log.failure = problem;
    this.deps.logger.warn(
      { podUID, containerName: name, containerID: id, err: problem },
      'Rotating a container log failed; retrying',
    );
  }
}
