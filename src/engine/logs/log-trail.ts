import { stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { listFolder } from '../../files/list-folder.ts';
import { NotARegularFile } from '../../files/regular-file.ts';
import { LogFile } from './log-file.ts';
import { compressedName, type RotatedLog, rotatedLogs } from './rotated-names.ts';

const blockBytes = 64 * 1024;
const newline = 0x0a;

interface TailOptions {
  /** Begins with this many last lines of all files. */
  tailLines?: number;
  /** With `tailLines`: searches only this many bytes at the end, and no compressed files. */
  tailBytes?: number;
}

/**
 * The files of one log in the order of their lines: rotated ones, oldest first, then the log itself. Files may be
 * rotated, compressed and deleted meanwhile.
 *
 * INVARIANT: a file is known by its inode while it is uncompressed, and by its first bytes once it is compressed. So a
 * reader that holds a file finds the next one after any number of rotations.
 */
export class LogTrail {
  private readonly log: string;
  /** Rotated files that are not read yet, of the time of opening. */
  private ahead: RotatedLog[] = [];
  /** The first of these, opened at the first line to read. */
  private first: LogFile | undefined;
  /** The log itself, at the time of opening. Undefined if a rotation was under way. */
  private live: LogFile | undefined;
  private isLiveRead = false;
  private present: LogFile | undefined;
  /** Stamp of the newest rotated file known to be older than the present file. */
  private olderStamp = '';
  /** Stamp of the rotated file before the first of `ahead`. */
  private lastStamp = '';

  private constructor(readonly path: string) {
    this.log = basename(path);
  }

  /** Rejects with ENOENT if the log has no file at all. */
  static async open(path: string, tail: TailOptions = {}): Promise<LogTrail> {
    const trail = new LogTrail(path);
    try {
      await trail.begin(tail);
      return trail;
    } catch (error) {
      await trail.close();
      throw error;
    }
  }

  /** Size of the log itself when it was opened. Undefined if the present file is another one. */
  get sizeAtOpening(): number | undefined {
    return this.present === this.live ? this.live?.size : undefined;
  }

  /**
   * The next file. The caller then reads the file before it to its end, and closes that. Resolves with undefined if
   * there is none; with `isFollowing` there may be one later, when it has content.
   */
  async next({ isFollowing }: { isFollowing: boolean }): Promise<LogFile | undefined> {
    const next = (await this.nextAhead()) ?? (isFollowing ? await this.successor() : undefined);
    if (next === undefined) return undefined;
    this.present = next;
    return next;
  }

  /** True if the path is now another, non-empty file. */
  async isReplaced(): Promise<boolean> {
    try {
      const { dev, ino, size } = await stat(this.path, { bigint: true });
      return size > 0n && `${dev}:${ino}` !== this.present?.identity;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const file of new Set([this.first, this.live, this.present])) await file?.close();
  }

  private async begin({ tailLines, tailBytes }: TailOptions): Promise<void> {
    for (;;) {
      const before = await this.rotated();
      this.live = await this.openLog();
      const after = await this.rotated();
      // A rotation in between would make the log that was opened one of these. One that was undone hid the log.
      const isHidden = this.live === undefined && (await this.isReplaced());
      if (!isHidden && before.at(-1)?.stamp === after.at(-1)?.stamp) {
        this.ahead = after;
        break;
      }
      await this.live?.close();
    }
    if (this.live === undefined && this.ahead.length === 0) {
      // Rejects with the reason.
      this.live = await LogFile.open(this.path, { followLinks: true });
    }
    if (tailLines !== undefined) await this.skipToTail(tailLines, tailBytes);
  }

  /** Leaves out everything before the last lines, newest file first. */
  private async skipToTail(tailLines: number, tailBytes = Infinity): Promise<void> {
    let lines = tailLines;
    let bytesLeft = tailBytes;
    const older = this.ahead;
    const search = async (file: LogFile): Promise<boolean> => {
      if (file.isCompressed) {
        if (tailBytes !== Infinity) return false;
        const count = await file.countLines();
        file.linesToSkip = Math.max(0, count - lines);
        lines -= count;
      } else {
        const { offset, missingLines } = await findTailOffset(file.file, lines, bytesLeft);
        file.seek(offset);
        lines = missingLines;
      }
      bytesLeft -= file.size;
      return true;
    };
    if (this.live !== undefined) await search(this.live);
    let begin = older.length;
    // While the log is missing, the newest rotated file is the one that is written.
    const isWanted = (): boolean => (lines > 0 && bytesLeft > 0) || (begin === older.length && this.live === undefined);
    while (begin > 0 && isWanted()) {
      const rotated = older[begin - 1];
      const file = rotated && (await this.openRotated(rotated));
      if (file !== undefined && !(await search(file))) {
        await file.close();
        break;
      }
      begin -= 1;
      // The place where the lines begin is kept in the open file.
      await this.first?.close();
      this.first = file;
    }
    this.ahead = older.slice(begin);
    this.lastStamp = older[begin - 1]?.stamp ?? '';
  }

  private async nextAhead(): Promise<LogFile | undefined> {
    for (let rotated = this.ahead.shift(); rotated !== undefined; rotated = this.ahead.shift()) {
      const file = this.first ?? (await this.openRotated(rotated));
      this.first = undefined;
      this.olderStamp = this.lastStamp;
      this.lastStamp = rotated.stamp;
      if (file !== undefined) return file;
    }
    if (this.isLiveRead || this.live === undefined) return undefined;
    this.isLiveRead = true;
    this.olderStamp = this.lastStamp;
    return this.live;
  }

  /** The file whose first line came after the last line of the present one. Undefined while it has no line. */
  private async successor(): Promise<LogFile | undefined> {
    const { present } = this;
    for (;;) {
      const listed = await this.rotated();
      let olderStamp = this.olderStamp;
      for (const rotated of listed.filter(({ stamp }) => stamp > this.olderStamp)) {
        const file = await this.openRotated(rotated);
        if (file === undefined) continue;
        if (!(await file.isEmpty()) && (await present?.isSameLog(file)) !== true) {
          this.olderStamp = olderStamp;
          return file;
        }
        await file.close();
        olderStamp = rotated.stamp;
      }
      const log = await this.openLog();
      if (log === undefined) return undefined;
      const isNew = log.identity !== present?.identity && !(await log.isEmpty());
      const newest = (await this.rotated()).at(-1)?.stamp;
      if (isNew && newest === listed.at(-1)?.stamp) {
        this.olderStamp = newest ?? '';
        return log;
      }
      await log.close();
      if (!isNew) return undefined;
      // It was rotated since the listing, or a file before it was.
    }
  }

  private async rotated(): Promise<RotatedLog[]> {
    return rotatedLogs(this.log, await listFolder(dirname(this.path)));
  }

  /** Resolves with undefined if the log is missing, as while it is rotated. */
  private async openLog(): Promise<LogFile | undefined> {
    // cri-dockerd makes logs links.
    return ifPresent(LogFile.open(this.path, { followLinks: true }));
  }

  /** Resolves with undefined if the file was deleted, or is no regular file. */
  private async openRotated({ name }: RotatedLog): Promise<LogFile | undefined> {
    // The compressed file is there before the other one goes.
    for (const candidate of [name, compressedName(name)]) {
      try {
        return await LogFile.open(join(dirname(this.path), candidate));
      } catch (error) {
        if (!hasCode(error, 'ENOENT') && !(error instanceof NotARegularFile)) throw error;
      }
    }
    return undefined;
  }
}

interface Tail {
  /** Of the first of the lines, in bytes. */
  offset: number;
  /** Number of wanted lines that the searched bytes do not have. */
  missingLines: number;
}

/**
 * Finds the last `lineCount` whole lines of a file. The offset is 0 if the file has fewer. Reads blocks from the end,
 * so the size of the file does not matter. Reads about `maxBytes` at most, and may then find fewer lines. An unfinished
 * line at the end does not count. kubelet: cri-client tail.go
 */
export async function findTailOffset(file: FileHandle, lineCount: number, maxBytes = Infinity): Promise<Tail> {
  const block = Buffer.allocUnsafe(blockBytes);
  let newlinesLeft = lineCount;
  const { size } = await file.stat();
  let firstWhole = size;
  for (let end = size; end > 0; end -= blockBytes) {
    if (size - end >= maxBytes) return { offset: firstWhole, missingLines: newlinesLeft };
    const start = Math.max(0, end - blockBytes);
    const { bytesRead } = await file.read(block, 0, end - start, start);
    // One newline more than there are wanted lines: the one before the first of them.
    for (let at = lastNewline(block, bytesRead); at >= 0; at = lastNewline(block, at)) {
      firstWhole = start + at + 1;
      if (newlinesLeft === 0) return { offset: firstWhole, missingLines: 0 };
      newlinesLeft -= 1;
    }
  }
  return { offset: 0, missingLines: newlinesLeft };
}

/** The last newline before `end`, or -1. */
function lastNewline(block: Buffer, end: number): number {
  return end === 0 ? -1 : block.lastIndexOf(newline, end - 1);
}
