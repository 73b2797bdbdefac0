import { type BigIntStats, constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';

/** Linux' O_PATH, which Node has no name for: nothing is read, and no device or pipe notices. */
const O_PATH = 0o10_000_000;

/**
 * A file, folder or whatever else it is, held by itself and not by its path: it stays the same one whatever containers
 * rename or put in its place. Names are bytes, one character a byte. Whoever opens one closes it.
 */
export class OpenEntry {
  readonly stats: BigIntStats;
  private readonly handle: FileHandle;

  private constructor(handle: FileHandle, stats: BigIntStats) {
    this.handle = handle;
    this.stats = stats;
  }

  /** Rejects for a link at the end of the path. */
  static async open(path: string | Buffer): Promise<OpenEntry> {
    const handle = await open(path, O_PATH | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat({ bigint: true });
      if (stats.isSymbolicLink()) throw new Error(`${path.toString()} is a link`);
      return new OpenEntry(handle, stats);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Leads to exactly this for every process of the machine, until it is closed. */
  get path(): string {
    return `/proc/${process.pid}/fd/${this.handle.fd}`;
  }

  /** What is in this folder under a name. Rejects for a link, and when this is no folder. */
  openChild(name: string): Promise<OpenEntry> {
    return OpenEntry.open(this.at(name));
  }

  /** Makes a folder in this one, with `mode` as far as the umask lets it. False when there is something of that name. */
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
