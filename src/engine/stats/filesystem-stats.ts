import { statfs } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import type { FsUsage } from '../host/fs-usage.ts';

/** Size and free space of a whole file system, in bytes and inodes. */
export type FilesystemSize = Required<FsUsage>;

/**
 * How long a disk that does not answer, such as a network file system, may delay a sample. `slow` applies if an earlier
 * read of the disk took long or is still running. `usual` is as long as the period of samples, because Node wakes up
 * even for a cancelled timer.
 */
const patienceMs = { usual: 10_000, slow: 2000 };
/** A read that takes longer counts as slow. */
const longMs = 100;
/** Bounds the memory used for volumes of removed pods. */
const maxSlowPaths = 1000;

/** Reads file systems, each at most once at a time. */
export class Filesystems {
  private readonly underWay = new Map<string, Promise<FilesystemSize>>();
  /** Paths whose last read took long. */
  private readonly slow = new Set<string>();

  constructor(
    private readonly clock: Clock,
    private readonly readSize = readFilesystem,
  ) {}

  /**
   * Reads the file system at a path. Resolves with undefined if it does not answer in time, or if the path is missing.
   */
  async read(path: string): Promise<FilesystemSize | undefined> {
    const asked = this.underWay.get(path);
    const ms = patienceMs[asked === undefined && !this.slow.has(path) ? 'usual' : 'slow'];
    try {
      return await withTimeout(this.clock, ms, asked ?? this.begin(path));
    } catch {
      return undefined;
    }
  }

  private begin(path: string): Promise<FilesystemSize> {
    const begunMonotonic = this.clock.monotonic();
    const reading = this.readSize(path).finally(() => {
      this.underWay.delete(path);
      if (this.slow.size >= maxSlowPaths) this.slow.clear();
      if (this.clock.monotonic() - begunMonotonic > longMs) this.slow.add(path);
      else this.slow.delete(path);
    });
    this.underWay.set(path, reading);
    // It may fail when nobody waits for it any more.
    reading.catch(() => undefined);
    return reading;
  }
}

async function readFilesystem(path: string): Promise<FilesystemSize> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    availableBytes: bavail * bsize,
    capacityBytes: blocks * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodesFree: ffree,
    inodes: files,
    inodesUsed: files - ffree,
  };
}
