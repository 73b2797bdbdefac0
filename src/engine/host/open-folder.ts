import { type BigIntStats, constants, type Dirent, readFileSync } from 'node:fs';
import { type FileHandle, open, opendir, readdir } from 'node:fs/promises';

const entriesAtATime = 64;
/** A folder up to this size has few entries: ext4, xfs, btrfs, ZFS and tmpfs count at least one byte per entry. */
const fewEntriesBytes = 4096;

/** An entry of a folder. Its name is bytes, one character per byte, because it need not be text. */
export interface FolderEntry {
  name: string;
  isDirectory: boolean;
}

/**
 * A folder held open. Everything done through it happens in this very folder, even after a container replaced it with a
 * link. The caller must close it.
 */
export class OpenFolder {
  /** Device and inode: identifies the folder under any name. */
  readonly identity: string;
  private readonly hasFewEntries: boolean;

  private constructor(
    private readonly handle: FileHandle,
    { dev, ino, size }: BigIntStats,
    /** Id of the mount that the folder is on. A bind mount of the same file system has another id. */
    readonly mountID: string,
  ) {
    this.identity = `${dev}:${ino}`;
    this.hasFewEntries = size > 0 && size <= fewEntriesBytes;
  }

  /** Rejects with ENOTDIR or ELOOP if the path is not a folder, for example a link to one. */
  static async open(path: string | Buffer): Promise<OpenFolder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat({ bigint: true });
      // This does not wait for a disk, because the kernel has it in memory. Using a thread for each call would take
      // longer.
      const mountID = /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8'))?.[1] ?? '';
      return new OpenFolder(handle, stats, mountID);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Returns the path to an entry of this folder. Valid until the folder is closed. */
  at(name: string): Buffer {
    return Buffer.from(`/proc/self/fd/${this.handle.fd}/${name}`, 'latin1');
  }

  /**
   * Reads a large folder in batches, because a container can create more files than memory can hold names. Keep the
   * folder open meanwhile: if the file system does not report types, Node stats each entry by this path. Skips the
   * first `from` entries.
   */
  async *entries(from = 0): AsyncGenerator<FolderEntry, void> {
    let at = 0;
    for await (const entry of await this.read()) {
      if (at >= from) yield { name: entry.name, isDirectory: entry.isDirectory() };
      at += 1;
    }
  }

  /** Reads few entries all at once, because that takes one call in a thread instead of four. */
  private read(): Promise<AsyncIterable<Dirent> | Dirent[]> {
    const path = `/proc/self/fd/${this.handle.fd}`;
    if (this.hasFewEntries) return readdir(path, { encoding: 'latin1', withFileTypes: true });
    return opendir(path, { encoding: 'latin1', bufferSize: entriesAtATime });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
