import { type BigIntStats, constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { hasCode } from '../../errors.ts';
import { O_PATH } from '../../files/regular-file.ts';

/**
 * A file, folder or other entry, held open by descriptor rather than by path. It stays the same entry when a container
 * renames or replaces it. Names are bytes, one character per byte. The caller must close it.
 */
export class OpenEntry {
  private constructor(
    private readonly handle: FileHandle,
    readonly stats: BigIntStats,
  ) {}

  /** Rejects if the path ends in a link. */
  static async open(path: string | Buffer): Promise<OpenEntry> {
    const handle = await open(path, O_PATH | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat({ bigint: true });
      if (stats.isSymbolicLink()) throw new Error(`${basename(path.toString())} is a link`);
      return new OpenEntry(handle, stats);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Returns a path that leads every process of the machine to exactly this entry, until the entry is closed. */
  get path(): string {
    return `/proc/${process.pid}/fd/${this.handle.fd}`;
  }

  /** Opens the entry with this name in this folder. Rejects if it is a link, or if this is not a folder. */
  openChild(name: string): Promise<OpenEntry> {
    return OpenEntry.open(this.at(name));
  }

  /** Creates a folder in this one, with `mode` limited by the umask. Resolves with false if the name exists. */
  async makeFolder(name: string, mode: number): Promise<boolean> {
    try {
      await mkdir(this.at(name), { mode });
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    }
  }

  async chmod(mode: number): Promise<void> {
    await chmod(this.path, mode);
  }

  close(): Promise<void> {
    return this.handle.close();
  }

  private at(name: string): Buffer {
    return Buffer.from(`${this.path}/${name}`, 'latin1');
  }
}
