import { statfs } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { inTime } from '../../flow/in-time.ts';
import type { FsUsage } from '../host/fs-usage.ts';

/** Size and free space of a whole file system, in bytes and inodes. */
export type FilesystemFigures = Required<FsUsage>;

/**
 * A disk that does not answer, such as a network file system, must not delay a sample for longer: `asked` if an earlier
 * read of it has not ended. The other one is the period of samples, because Node wakes up for a timer that was
 * cancelled, too.
 */
const patienceMs = { new: 10_000, asked: 2000 };

/** Reads file systems, each at most once at a time. */
export class Filesystems {
  private readonly underWay = new Map<string, Promise<FilesystemFigures>>();

  constructor(
    private readonly clock: Clock,
    private readonly readFigures = readFilesystem,
  ) {}

  /** The file system at a path. Resolves with undefined if it does not answer in time or the path is missing. */
  async read(path: string): Promise<FilesystemFigures | undefined> {
    const asked = this.underWay.get(path);
    const ms = patienceMs[asked === undefined ? 'new' : 'asked'];
    try {
      return await inTime(this.clock, ms, asked ?? this.begin(path));
    } catch {
      return undefined;
    }
  }

  private begin(path: string): Promise<FilesystemFigures> {
    const reading = this.readFigures(path).finally(() => this.underWay.delete(path));
    this.underWay.set(path, reading);
    // It may fail after nobody waits for it.
    reading.catch(() => undefined);
    return reading;
  }
}

async function readFilesystem(path: string): Promise<FilesystemFigures> {
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
