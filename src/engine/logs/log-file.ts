import type { FileHandle } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { hasCode } from '../../errors.ts';
import { openRegularFile } from '../../files/regular-file.ts';

const blockBytes = 16 * 1024;
/** Far more than a container can write between two checks of its log, but a forged file may hold more. */
const maxPlainBytes = 4 * 1024 ** 3;
/** The start of a log has a time in nanoseconds, so two files never begin with the same bytes. */
const beginningBytes = 256;

/** Thrown if a compressed log is not a gzip file, is truncated, or is too large. */
export class DamagedLog extends Error {}

/** An open file of a log. It stays readable after it is renamed, compressed or deleted. */
export class LogFile {
  readonly isCompressed: boolean;
  /** Device and inode. */
  readonly identity: string;
  /** Size when it was opened, in bytes as stored. */
  readonly size: number;
  /** How many lines at the start the reader skips. */
  linesToSkip = 0;
  private readonly block = Buffer.allocUnsafe(blockBytes);
  private position = 0;
  private unpacked: AsyncGenerator<Buffer, undefined> | undefined;

  /** `file` is the open file, for searching it if it is not compressed. */
  private constructor(
    readonly path: string,
    readonly file: FileHandle,
    stats: { dev: bigint; ino: bigint; size: bigint },
  ) {
    this.isCompressed = path.endsWith('.gz');
    this.identity = `${stats.dev}:${stats.ino}`;
    this.size = Number(stats.size);
  }

  /** Rejects like `openRegularFile`. */
  static async open(path: string, options: { followLinks?: boolean } = {}): Promise<LogFile> {
    const handle = await openRegularFile(path, options);
    try {
      return new LogFile(path, handle, await handle.stat({ bigint: true }));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * Reads the next piece of the log. It is valid until the next call, and empty at the end of the file, which may still
   * grow. Rejects with `DamagedLog` if it cannot be unpacked. Calls `onRestart` if the file was truncated and is read
   * again.
   */
  async read(onRestart: () => void): Promise<Buffer> {
    if (this.isCompressed) return this.readUnpacked();
    const { bytesRead } = await this.file.read(this.block, 0, blockBytes, this.position);
    if (bytesRead === 0 && (await this.file.stat()).size < this.position) {
      // The file was truncated in place, for example by logrotate's `copytruncate`.
      this.position = 0;
      onRestart();
      return this.read(onRestart);
    }
    this.position += bytesRead;
    return this.block.subarray(0, bytesRead);
  }

  /** Continues at this position of an uncompressed file. */
  seek(position: number): void {
    this.position = position;
  }

  /** Counts the lines of a compressed file, up to where it is damaged. */
  async countLines(): Promise<number> {
    let lines = 0;
    await this.unpackAll((bytes) => {
      for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines += 1;
      return true;
    });
    return lines;
  }

  async isEmpty(): Promise<boolean> {
    return (await this.file.stat()).size === 0;
  }

  /** True if both are the same log, which may have been compressed since `this` was opened. */
  async isSameLog(later: LogFile): Promise<boolean> {
    if (later.identity === this.identity) return true;
    return later.isCompressed && !this.isCompressed && (await this.beginning()).equals(await later.beginning());
  }

  async close(): Promise<void> {
    await this.unpacked?.return(undefined);
    await this.file.close();
  }

  private async readUnpacked(): Promise<Buffer> {
    this.unpacked ??= unpack(this.file);
    const { value } = await this.unpacked.next();
    return value ?? Buffer.alloc(0);
  }

  /** Reads the first bytes of the log. Empty if it is damaged. */
  private async beginning(): Promise<Buffer> {
    if (!this.isCompressed) {
      const bytes = Buffer.alloc(beginningBytes);
      const { bytesRead } = await this.file.read(bytes, 0, beginningBytes, 0);
      return bytes.subarray(0, bytesRead);
    }
    let beginning: Buffer = Buffer.alloc(0);
    await this.unpackAll((bytes) => {
      beginning = Buffer.concat([beginning, bytes]);
      return beginning.length < beginningBytes;
    });
    return beginning.subarray(0, beginningBytes);
  }

  /** Passes the pieces of a compressed file to `take` until that returns false, or up to where it is damaged. */
  private async unpackAll(take: (bytes: Buffer) => boolean): Promise<void> {
    try {
      for await (const bytes of unpack(this.file)) if (!take(bytes)) return;
    } catch (error) {
      if (!(error instanceof DamagedLog)) throw error;
    }
  }
}

const newline = 0x0a;

/** Codes of zlib. */
const damages = ['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT'];

/** Unpacks from the start of the file. Keeps only a few blocks in memory. */
async function* unpack(handle: FileHandle): AsyncGenerator<Buffer, undefined> {
  const gunzip = createGunzip({ chunkSize: blockBytes });
  pipeline(Readable.from(blocksOf(handle)), gunzip, () => {
    // Errors reach the loop below.
  });
  let length = 0;
  try {
    for await (const bytes of gunzip as AsyncIterable<Buffer>) {
      length += bytes.length;
      if (length > maxPlainBytes) throw new DamagedLog('it is larger than 4 GiB');
      yield bytes;
    }
  } catch (error) {
    if (error instanceof Error && hasCode(error, ...damages)) {
      throw new DamagedLog(error.message, { cause: error });
    }
    throw error;
  }
}

async function* blocksOf(handle: FileHandle): AsyncGenerator<Buffer, undefined> {
  for (let position = 0; ;) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
