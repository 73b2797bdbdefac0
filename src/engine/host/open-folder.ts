import { type BigIntStats, constants, type Dirent, readFileSync } from 'node:fs';
import { type FileHandle, open, opendir, readdir } from 'node:fs/promises';

const entriesAtATime = 64;
/** Size of a folder that has few entries: ext4, xfs, btrfs, ZFS and tmpfs count at least one byte for each entry. */
const fewEntriesBytes = 4096;

/** An entry of a folder. Its name is bytes, one character a byte, because it need not be text. */
export interface FolderEntry {
  name: string;
  isDirectory: boolean;
}

/**
 * A folder held open. Everything done through it happens in this very folder, even after a container put a link in its
 * place. The caller closes it.
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

  /** Rejects with ENOTDIR or ELOOP if the path is no folder, for example a link to one. */
  static async open(path: string | Buffer): Promise<OpenFolder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat({ bigint: true });
      // Waits for no disk: the kernel has it in memory. A thread for each of its calls would take longer than they do.
      const mountID = /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8'))?.[1] ?? '';
      return new OpenFolder(handle, stats, mountID);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Path to an entry of this folder. Valid until the folder is closed. */
  at(name: string): Buffer {
    return Buffer.from(`/proc/self/fd/${this.handle.fd}/${name}`, 'latin1');
  }

  /**
   * Reads a large folder in batches, because a container can make more files than memory holds names of. The folder
   * must stay open meanwhile: where the file system does not report types, Node looks at each entry by this path.
   * Passes over the first `from` entries.
   */
  async *entries(from = 0): AsyncGenerator<FolderEntry, void> {
    let at = 0;
    for await (const entry of await this.read()) {
      if (at >= from) yield { name: entry.name, isDirectory: entry.isDirectory() };
      at += 1;
    }
  }

  /** All at once if they are few, because that takes one call of a thread in place of four. */
  private read(): Promise<AsyncIterable<Dirent> | Dirent[]> {
    const path = `/proc/self/fd/${this.handle.fd}`;
    if (this.hasFewEntries) return readdir(path, { encoding: 'latin1', withFileTypes: true });
    return opendir(path, { encoding: 'latin1', bufferSize: entriesAtATime });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
