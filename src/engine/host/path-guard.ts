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
  /** How many places may hang at a time. Each one holds a thread, and other work needs threads too. */
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
 * time, and it makes one call at a time. A place is a path, or the mount above it. While a call to a place hangs, it
 * gets no other call. Once `maxHung` places hang, only places that answered their last call are tried.
 */
export class PathGuard {
  /** Mounts of this machine. Paths on the same one hang together. */
  mountPoints: readonly string[] = [];
  private readonly hung = new Set<string>();
  private readonly answered = new Set<string>();
  private readonly turns = new Semaphore(1);
  private readonly clock: Clock;

  constructor(private readonly deps: Deps) {
    this.clock = deps.clock ?? systemClock;
  }

  /** Returns the result of `work` on this path. Rejects if `work` does, and with a `HungPathError` if it hangs. */
  async run<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const place = this.placeOf(path);
    if (this.isRefused(place)) throw new HungPathError(path);
    return this.turns.run(async () => {
      if (this.isRefused(place)) throw new HungPathError(path);
      const working = work();
      try {
        return await withTimeout(this.clock, patienceMs, working);
      } catch (error) {
        if (!(error instanceof TimeoutError)) throw error;
        this.waitFor(working, { path, place });
        throw new HungPathError(path);
      } finally {
        if (!this.hung.has(place)) this.answered.add(place);
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

  private isRefused(place: string): boolean {
    return this.hung.has(place) || (this.hung.size >= this.deps.maxHung && !this.answered.has(place));
  }

  private waitFor(working: Promise<unknown>, { path, place }: { path: string; place: string }): void {
    this.hung.add(place);
    this.answered.delete(place);
    const back = (): void => {
      this.hung.delete(place);
      this.deps.onBack?.(path);
    };
    working.then(back, back);
  }

  /** The root mount does not count as a place, because a link there may lead anywhere. */
  private placeOf(path: string): string {
    const mountPoint = mountPointOf(path, this.mountPoints);
    return mountPoint === '/' ? path : mountPoint;
  }
}
