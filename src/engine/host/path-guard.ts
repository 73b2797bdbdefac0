import { statfs } from 'node:fs/promises';
import { type Clock, systemClock } from '../../clock.ts';
import { withTimeout, TimeoutError } from '../../flow/with-timeout.ts';
import { Semaphore } from '../../flow/semaphore.ts';
import { mountPointOf } from './mount-points.ts';

/** Thrown if the file system of a path does not answer, for example because its NFS server is dead. */
export class HungPathError extends Error {
  override readonly name = 'HungPathError';

  constructor(readonly path: string) {
    super('its file system does not answer');
  }
}

interface Deps {
  /** How many file systems may hang at a time. Each holds a thread, and other work needs threads too. */
  maxHung: number;
  /** Called when a hung call has returned. */
  onBack?: (path: string) => void;
  /** Defaults to the system's clock. */
  clock?: Clock;
}

/** A call that takes longer counts as hung, even if it returns later. A disk spins up faster. */
const patienceMs = 5000;

/**
 * Runs work on paths that other machines or programs serve and that may hang: NFS, FUSE.
 *
 * INVARIANTS: a hung call holds one of Node's four threads until the kernel returns. So one piece of work runs at a
 * time, and it makes one call at a time. While a call to a file system hangs, that file system gets no other call. Once
 * `maxHung` file systems hang, only those that answered their last call are tried.
 */
export class PathGuard {
  /** Mounts of this machine. Paths on the same one hang together. */
  mountPoints: readonly string[] = [];
  private readonly hung = new Set<string>();
  private readonly answered = new Set<string>();
  private readonly queue = new Semaphore(1);
  private readonly clock: Clock;

  constructor(private readonly deps: Deps) {
    this.clock = deps.clock ?? systemClock;
  }

  /** Returns the result of `work` on this path. Rejects if `work` does, and with a `HungPathError` if it hangs. */
  async run<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const fileSystem = this.fileSystemOf(path);
    if (this.isRefused(fileSystem)) throw new HungPathError(path);
    return this.queue.run(async () => {
      if (this.isRefused(fileSystem)) throw new HungPathError(path);
      const working = work();
      try {
        return await withTimeout(this.clock, patienceMs, working);
      } catch (error) {
        if (!(error instanceof TimeoutError)) throw error;
        this.waitFor(working, { path, fileSystem });
        throw new HungPathError(path);
      } finally {
        if (!this.hung.has(fileSystem)) this.answered.add(fileSystem);
      }
    }, signal);
  }

  /**
   * Rejects with a `HungPathError` if the file system of this path does not answer, for work that may take long if it
   * does. Ignores other errors, because that work will report them.
   */
  async check(path: string): Promise<void> {
    // Unlike `stat`, the kernel never answers this from a cache.
    await this.run(path, () => statfs(path)).catch((error: unknown) => {
      if (error instanceof HungPathError) throw error;
    });
  }

  private isRefused(fileSystem: string): boolean {
    return this.hung.has(fileSystem) || (this.hung.size >= this.deps.maxHung && !this.answered.has(fileSystem));
  }

  private waitFor(working: Promise<unknown>, { path, fileSystem }: { path: string; fileSystem: string }): void {
    this.hung.add(fileSystem);
    this.answered.delete(fileSystem);
    const back = (): void => {
      this.hung.delete(fileSystem);
      this.deps.onBack?.(path);
    };
    working.then(back, back);
  }

  /** Returns the path's mount point. A path on the root mount stands for itself: a link there may lead anywhere. */
  private fileSystemOf(path: string): string {
    const mountPoint = mountPointOf(path, this.mountPoints);
    return mountPoint === '/' ? path : mountPoint;
  }
}
