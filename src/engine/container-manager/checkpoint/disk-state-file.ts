import { rename } from 'node:fs/promises';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode, isSystemError } from '../../../errors.ts';
import type { Logger } from '../../../logger.ts';
import { removeTemporary, replaceFile } from '../../../files/write-file-atomic.ts';
import { readRegularFile } from '../../../files/regular-file.ts';
import type { StateFile } from './state-file.ts';

/** Enough for thousands of containers with their own CPUs. */
const defaultMaxBytes = 4 * 1024 * 1024;
/** Time until a failed write is tried again. */
const retryMs = 10_000;

interface Deps {
  path: string;
  /** A larger file is not read, and counts as unusable. */
  maxBytes?: number;
  clock: Clock;
  logger: Logger;
}

/**
 * A state file on disk. Each write replaces it atomically. kubelet: checkpointmanager
 *
 * INVARIANTS: the disk gets the newest content; one that was replaced before its turn is not written. Writes wait for
 * nobody: after a crash with an older file, running containers are moved to the CPUs that it gives them.
 */
export class DiskStateFile implements StateFile {
  /** Not on the disk yet. */
  private wanted: string | undefined;
  private writing: Promise<void> | undefined;
  private hasFailed = false;
  private cancelRetry: (() => void) | undefined;

  private constructor(
    private readonly deps: Deps,
    public content: string | undefined,
  ) {}

  /**
   * Removes what a kill during a write left. Rejects with the error of the file system if the file cannot be read.
   * A path that is not a file has no content.
   */
  static async open(deps: Deps): Promise<DiskStateFile> {
    // They do no harm if they stay.
    await removeTemporary(deps.path).catch(() => undefined);
    return new DiskStateFile(deps, await contentOf(deps));
  }

  get path(): string {
    return this.deps.path;
  }

  write(content: string): void {
    this.wanted = content;
    this.begin();
  }

  /** Renames the file, so that a start without it follows. Rejects with the error of the file system. */
  async setAside(): Promise<string> {
    const aside = `${this.path}.unusable`;
    await rename(this.path, aside);
    this.content = undefined;
    return aside;
  }

  /** Resolves after the last write, also if it failed. */
  async close(): Promise<void> {
    this.begin();
    await this.writing;
    this.stopRetry();
  }

  private begin(): void {
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
    });
  }

  private async writeAll(): Promise<void> {
    while (this.wanted !== undefined) {
      const content = this.wanted;
      try {
        await replaceFile(this.path, Buffer.from(content));
      } catch (error) {
        this.noteFailure(error);
        return;
      }
      if (this.hasFailed) this.deps.logger.info({ path: this.path }, 'Writing the state file works again');
      this.hasFailed = false;
      if (this.wanted === content) this.wanted = undefined;
    }
  }

  private noteFailure(error: unknown): void {
    const { logger, clock, path } = this.deps;
    if (!this.hasFailed) logger.warn({ path, err: errorMessage(error) }, 'Writing the state file failed');
    this.hasFailed = true;
    this.stopRetry();
    this.cancelRetry = clock.after(retryMs, () => {
      this.begin();
    });
  }

  private stopRetry(): void {
    this.cancelRetry?.();
    this.cancelRetry = undefined;
  }
}

/**
 * Starts a manager with its file. Sets a file that it cannot use aside, and starts without: one that is damaged, of
 * another policy, or of a machine with other memory. The kubelet does not start with such a file. Rejects with the
 * error of the file system.
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
    // It is too large, or not a regular file, so no manager wrote it.
    return '';
  }
}
