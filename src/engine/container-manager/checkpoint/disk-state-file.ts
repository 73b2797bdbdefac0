import { rename } from 'node:fs/promises';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode, isSystemError } from '../../../errors.ts';
import type { Logger } from '../../../logger.ts';
import { removeTemporary, replaceFile } from '../../../files/write-file-atomic.ts';
import { readRegularFile } from '../../../files/regular-file.ts';
import type { StateFile } from './state-file.ts';

/** Enough for thousands of containers with their own CPUs. */
const defaultMaxBytes = 4 * 1024 * 1024;
/** Delay before a failed write is retried. */
const retryMs = 10_000;

interface Deps {
  path: string;
  /** A larger file is not read and counts as unusable. */
  maxBytes?: number;
  clock: Clock;
  logger: Logger;
}

/**
 * A state file on disk. Each write replaces it atomically. kubelet: checkpointmanager
 *
 * INVARIANTS: only the newest content is written; content that was replaced before its write started is skipped.
 * Callers do not wait for writes: after a crash with an older file, running containers are moved to the CPUs in that
 * file.
 */
export class DiskStateFile implements StateFile {
  /** Content that is not on disk yet. */
  private pending: string | undefined;
  private writing: Promise<void> | undefined;
  private hasFailed = false;
  private cancelRetry: (() => void) | undefined;

  private constructor(
    private readonly deps: Deps,
    public content: string | undefined,
  ) {}

  /**
   * Opens the file and removes temporary files of an interrupted write. Rejects with the error of the file system if
   * the file cannot be read. A path that is not a file has empty content.
   */
  static async open(deps: Deps): Promise<DiskStateFile> {
    // Temporary files that cannot be removed do no harm.
    await removeTemporary(deps.path).catch(() => undefined);
    return new DiskStateFile(deps, await contentOf(deps));
  }

  get path(): string {
    return this.deps.path;
  }

  write(content: string): void {
    this.pending = content;
    this.startWriting();
  }

  /**
   * Renames the file, so that the manager can start without it. Resolves with the new path. Rejects with the error of
   * the file system.
   */
  async setAside(): Promise<string> {
    const aside = `${this.path}.unusable`;
    await rename(this.path, aside);
    this.content = undefined;
    return aside;
  }

  /** Resolves after the last write, even if it failed. */
  async close(): Promise<void> {
    this.startWriting();
    await this.writing;
    this.stopRetry();
  }

  private startWriting(): void {
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
    });
  }

  private async writeAll(): Promise<void> {
    while (this.pending !== undefined) {
      const content = this.pending;
      try {
        await replaceFile(this.path, Buffer.from(content));
      } catch (error) {
        this.recordFailure(error);
        return;
      }
      if (this.hasFailed) this.deps.logger.info({ path: this.path }, 'Writing the state file succeeded again');
      this.hasFailed = false;
      if (this.pending === content) this.pending = undefined;
    }
  }

  private recordFailure(error: unknown): void {
    const { logger, clock, path } = this.deps;
    if (!this.hasFailed) logger.warn({ path, err: errorMessage(error) }, 'Writing the state file failed');
    this.hasFailed = true;
    this.stopRetry();
    this.cancelRetry = clock.after(retryMs, () => {
      this.startWriting();
    });
  }

  private stopRetry(): void {
    this.cancelRetry?.();
    this.cancelRetry = undefined;
  }
}

/**
 * Starts a manager with its state file. If the manager cannot use the file, renames it and starts without it: the file
 * may be damaged, or written for another policy or other memory. The kubelet refuses to start with such a file. Rejects
 * with the error of the file system.
 */
export async function startWithStateFile(
  manager: { start: (file: StateFile) => void },
  file: DiskStateFile,
  logger: Logger,
): Promise<void> {
  try {
    manager.start(file);
  } catch (error) {
    const aside = await file.setAside();
    logger.warn({ path: file.path, aside, err: errorMessage(error) }, 'The state file is unusable and was set aside');
    manager.start(file);
  }
}

/** Undefined if the file is missing. */
async function contentOf({ path, maxBytes = defaultMaxBytes }: Deps): Promise<string | undefined> {
  try {
    return (await readRegularFile(path, maxBytes)).toString('utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (isSystemError(error)) throw error;
    // No manager wrote this file: it is too large or not a regular file.
    return '';
  }
}
