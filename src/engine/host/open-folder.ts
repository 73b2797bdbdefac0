import { constants } from 'node:fs';
import { type FileHandle, open, opendir, readFile } from 'node:fs/promises';

const entriesAtATime = 64;

/** An entry of a folder. Names are bytes, one character a byte, as they need not be text. */
export interface FolderEntry {
  name: string;
  isDirectory: boolean;
}

/**
 * A folder held open. What is done through it is done in this very folder, whatever its path leads to by then: a container
 * that runs can put a link in place of any folder of its volumes. Whoever opens one closes it.
 */
export class OpenFolder {
  /** Device and inode: the same folder has the same, whatever it is called. */
  readonly identity: string;
  /** What is mounted elsewhere, be it a part of the same file system, has another one. */
  readonly mountID: string;
  private readonly handle: FileHandle;

  private constructor(handle: FileHandle, identity: string, mountID: string) {
    this.handle = handle;
    this.identity = identity;
    this.mountID = mountID;
  }

  /** Rejects with ENOTDIR or ELOOP for anything that is no folder, a link to one included. */
  static async open(path: string | Buffer): Promise<OpenFolder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const { dev, ino } = await handle.stat({ bigint: true });
      const mountID = /^mnt_id:\s*(\d+)/m.exec(await readFile(`/proc/self/fdinfo/${handle.fd}`, 'utf8'))?.[1] ?? '';
      return new OpenFolder(handle, `${dev}:${ino}`, mountID);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** A path to an entry of this folder that stays right until the folder is closed. */
  at(name: string): Buffer {
    return Buffer.from(`/proc/self/fd/${this.handle.fd}/${name}`, 'latin1');
  }

  /** Some at a time: a container can make more files than there is memory for their names. */
  async *entries(): AsyncGenerator<FolderEntry, void> {
    const folder = await opendir(`/proc/self/fd/${this.handle.fd}`, { encoding: 'latin1', bufferSize: entriesAtATime });
    for await (const entry of folder) yield { name: entry.name, isDirectory: entry.isDirectory() };
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
