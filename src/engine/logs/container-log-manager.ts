import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import pLimit from 'p-limit';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { rotateLog, tidyRotatedLogs } from './rotate-log.ts';

/** kubelet: logs/container_log_manager.go LogRotatePolicy */
export interface ContainerLogSettings {
  /** A log of at least this size is rotated. Negative: none is. */
  maxSizeBytes: bigint;
  /** Files of one log, the log itself included. At least 2. */
  maxFiles: number;
  /** Logs whose rotated files are compressed at a time. */
  maxWorkers: number;
  monitorIntervalMs: number;
}

interface LoggedContainer {
  id: string;
  name: string;
  podUID: string;
}

interface Deps {
  settings: ContainerLogSettings;
  runtime: Pick<RuntimeService, 'containerStatus' | 'reopenContainerLog'>;
  /** The running containers of our pods, by the last listing of the runtime. */
  runningContainers: () => readonly LoggedContainer[];
  clock: Clock;
  logger: Logger;
}

/**
 * Rotates the logs of running containers that are too large. A check is one `lstat` a container. The runtime is called
 * once a container for the path of its log, and then only to reopen it. kubelet: logs/container_log_manager.go
 *
 * INVARIANTS: every container is looked at by itself, and at most once at a time, so a call that hangs delays no other
 * container. A worker is not held while the runtime answers.
 */
export class ContainerLogManager {
  private readonly deps: Deps;
  /** Paths of the logs by container id. */
  private readonly paths = new Map<string, string>();
  /** Looks under way, by container id. */
  private readonly looks = new Map<string, Promise<void>>();
  /** The last logged failure by container id, until a rotation without one. */
  private readonly failures = new Map<string, string>();
  private readonly worker: <T>(work: () => Promise<T>) => Promise<T>;

  constructor(deps: Deps) {
    this.deps = deps;
    this.worker = pLimit(deps.settings.maxWorkers);
  }

  /** Checks at once, then after every interval, until the signal is aborted. Returns if logs are not rotated. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, clock } = this.deps;
    if (settings.maxSizeBytes < 0n) return;
    try {
      for (;;) {
        this.check(signal);
        await clock.sleep(settings.monitorIntervalMs, { signal });
      }
    } finally {
      // Renames that were not followed by a new log are undone.
      await this.settled();
    }
  }

  /** Resolves when the rotations under way have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.looks.values());
  }

  private check(signal: AbortSignal): void {
    const running = this.deps.runningContainers();
    const ids = new Set(running.map(({ id }) => id));
    for (const known of [this.paths, this.failures]) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    }
    for (const container of running) {
      const { id } = container;
      if (this.looks.has(id)) continue;
      const look = this.look(container, signal).finally(() => {
        this.looks.delete(id);
      });
      this.looks.set(id, look);
    }
  }

  /** Never rejects. */
  private async look(container: LoggedContainer, signal: AbortSignal): Promise<void> {
    const { id } = container;
    try {
      const path = await this.pathOf(id, signal);
      if (path !== undefined) await this.maintain(container, path, signal);
    } catch (error) {
      if (!signal.aborted) this.warnOnce(container, errorMessage(error));
    }
  }

  /** Resolves with undefined if the runtime writes no file of this log. */
  private async pathOf(id: string, signal: AbortSignal): Promise<string | undefined> {
    let path = this.paths.get(id);
    if (path === undefined) {
      const { status } = await this.deps.runtime.containerStatus({ containerId: id }, { signal });
      path = status?.logPath ?? '';
      this.paths.set(id, path);
    }
    return isAbsolute(path) ? path : undefined;
  }

  private async maintain(container: LoggedContainer, path: string, signal: AbortSignal): Promise<void> {
    const { settings, clock, runtime } = this.deps;
    const reopen = (): Promise<unknown> => runtime.reopenContainerLog({ containerId: container.id }, { signal });
    const stats = await this.statOf(path, reopen);
    // cri-dockerd makes logs links to files that Docker rotates.
    if (stats.isSymbolicLink()) return;
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
    if (BigInt(stats.size) < settings.maxSizeBytes) return;
    const failure = await this.worker(async () => {
      signal.throwIfAborted();
      return tidyRotatedLogs(path, settings.maxFiles, signal);
    });
    await rotateLog(path, clock.now(), reopen);
    if (failure === undefined) this.failures.delete(container.id);
    else this.warnOnce(container, failure);
  }

  /** A log is missing if it was deleted, or if a rotation was cut off after the rename. */
  private async statOf(path: string, reopen: () => Promise<unknown>): Promise<Stats> {
    try {
      return await lstat(path);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      await reopen();
      return lstat(path);
    }
  }

  private warnOnce({ id, name, podUID }: LoggedContainer, problem: string): void {
    if (this.failures.get(id) === problem) return;
    this.failures.set(id, problem);
    this.deps.logger.warn(
      { podUID, containerName: name, containerID: id, err: problem },
      'Rotating a container log failed, it is tried again',
    );
  }
}
