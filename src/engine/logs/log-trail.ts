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
  /** Begins this many lines before the end, counted over all files. */
  tailLines?: number;
  /** With `tailLines`: searches only this many bytes at the end, and no compressed files. */
  tailBytes?: number;
}

/**
 * Walks through the files of one log in the order of their lines: the rotated ones, oldest first, then the log itself.
 * Meanwhile, files may be rotated, compressed and deleted.
 *
 * INVARIANT: a file is identified by its inode while it is uncompressed, and by its first bytes once it is compressed.
 * So a reader that has a file open finds the next one after any number of rotations.
 */
export class LogTrail {
  private readonly log: string;
  /** Rotated files that existed at opening and are not read yet. */
  private ahead: RotatedLog[] = [];
  /** The first of these, opened and positioned at the first line to read. */
  private first: LogFile | undefined;
  /** The log itself, as it was at opening. Undefined if a rotation was in progress then. */
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

  /** Returns the size of the log itself when it was opened. Undefined if the present file is a different one. */
  get sizeAtOpening(): number | undefined {
    return this.present === this.live ? this.live?.size : undefined;
  }

  /**
   * Opens the next file. The caller must then read the file before it to its end and close it. Resolves with undefined
   * if there is none; with `isFollowing`, a later call may find one once it has content.
   */
  async next({ isFollowing }: { isFollowing: boolean }): Promise<LogFile | undefined> {
    const next = (await this.nextAhead()) ?? (isFollowing ? await this.successor() : undefined);
    if (next === undefined) return undefined;
    this.present = next;
    return next;
  }

  /** True if the path is now a different, non-empty file. */
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
      // If a rotation happened in between, the log that was opened is now one of these. If a rotation was undone, the
      // log was hidden for a moment.
      const isHidden = this.live === undefined && (await this.isReplaced());
      if (!isHidden && before.at(-1)?.stamp === after.at(-1)?.stamp) {
        this.ahead = after;
        break;
      }
      await this.live?.close();
    }
    if (this.live === undefined && this.ahead.length === 0) {
      // Opening it again rejects with the reason.
      this.live = await LogFile.open(this.path, { followLinks: true });
    }
    if (tailLines !== undefined) await this.skipToTail(tailLines, tailBytes);
  }

  /** Skips everything before the last lines, searching the newest file first. */
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
    // While the log is missing, the newest rotated file is the one being written.
    const isWanted = (): boolean => (lines > 0 && bytesLeft > 0) || (begin === older.length && this.live === undefined);
    while (begin > 0 && isWanted()) {
      const rotated = older[begin - 1];
      const file = rotated && (await this.openRotated(rotated));
      if (file !== undefined && !(await search(file))) {
        await file.close();
        break;
      }
      begin -= 1;
      // The open file remembers where the lines begin.
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

  /** Opens the file whose first line follows the last line of the present one. Undefined while it has no line. */
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
      // It, or a file before it, was rotated since the listing.
    }
  }

  private async rotated(): Promise<RotatedLog[]> {
    return rotatedLogs(this.log, await listFolder(dirname(this.path)));
  }

  /** Resolves with undefined if the log is missing, for example during a rotation. */
  private async openLog(): Promise<LogFile | undefined> {
    // With cri-dockerd, logs are links.
    return ifPresent(LogFile.open(this.path, { followLinks: true }));
  }

  /** Resolves with undefined if the file was deleted, or is not a regular file. */
  private async openRotated({ name }: RotatedLog): Promise<LogFile | undefined> {
    // The compressed file exists before the other one is deleted.
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
  /** Position of the first of the lines, in bytes. */
  offset: number;
  /** How many of the wanted lines are not in the searched bytes. */
  missingLines: number;
}

/**
 * Finds the last `lineCount` complete lines of a file. The offset is 0 if the file has fewer. Reads blocks from the
 * end, so the size of the file does not matter. Reads at most about `maxBytes`, and may then find fewer lines. An
 * incomplete line at the end does not count. kubelet: cri-client tail.go
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
    // Counts one more newline than wanted lines: the one before the first line.
    for (let at = lastNewline(block, bytesRead); at >= 0; at = lastNewline(block, at)) {
      firstWhole = start + at + 1;
      if (newlinesLeft === 0) return { offset: firstWhole, missingLines: 0 };
      newlinesLeft -= 1;
    }
  }
  return { offset: 0, missingLines: newlinesLeft };
}

/** Returns the position of the last newline before `end`, or -1. */
function lastNewline(block: Buffer, end: number): number {
  return end === 0 ? -1 : block.lastIndexOf(newline, end - 1);
}
