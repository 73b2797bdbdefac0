import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import type { Clock } from '../../clock.ts';
import { hasCode } from '../../errors.ts';
import { maxKernelFileBytes, numberOf } from './kernel-files.ts';

interface Kept {
  descriptor: number;
  readAtMonotonic: number;
}

/** How many files may stay open, and the largest share of this process's descriptors that they may use. */
const most = { files: 8192, share: 1 / 4 };
/** A file that is not read for this long is closed. Samples further apart give no CPU usage anyway. */
const keptForMs = 120_000;

/**
 * Reads cgroup files and keeps them open, because opening one takes two or three times as long as reading it. An open
 * file does not prevent a cgroup from being removed. Files below /proc are never kept open, because an open network
 * file would keep that network alive.
 */
export class KeptFiles {
  private readonly buffer = Buffer.allocUnsafe(maxKernelFileBytes);
  private readonly kept = new Map<string, Kept>();
  private maxFiles: number | undefined;
  private cancelEnd: (() => void) | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonic' | 'after'>) {}

  /** Reads a file that the kernel returns in one read. Returns undefined if it is missing or cannot be read. */
  read(path: string): string | undefined {
    const known = this.kept.get(path);
    if (known === undefined) return this.readNew(path);
    const length = this.readInto(known.descriptor);
    if (length !== undefined) {
      known.readAtMonotonic = this.clock.monotonic();
      return this.text(length);
    }
    // The cgroup was removed. A new one may have its name.
    this.close(path, known);
    return this.readNew(path);
  }

  /** Reads the number in a file. Also returns undefined for a text such as `max`. */
  readNumber(path: string): number | undefined {
    return numberOf(this.read(path));
  }

  /**
   * Call this after each sample. Closes files that samples no longer read, and all files if no other sample follows.
   */
  endSample(): void {
    const oldestMonotonic = this.clock.monotonic() - keptForMs;
    // Avoids an array for each of thousands of files.
    this.kept.forEach((file, path) => {
      if (file.readAtMonotonic < oldestMonotonic) this.close(path, file);
    });
    this.cancelEnd?.();
    this.cancelEnd = this.kept.size === 0 ? undefined : this.clock.after(keptForMs, this.closeAll);
  }

  private readonly closeAll = (): void => {
    for (const [path, file] of this.kept) this.close(path, file);
  };

  private readNew(path: string): string | undefined {
    const descriptor = this.open(path);
    if (descriptor === undefined) return undefined;
    const length = this.readInto(descriptor);
    this.maxFiles ??= mostFiles();
    if (length === undefined || this.kept.size >= (this.maxFiles ?? 0)) closeSync(descriptor);
    else this.kept.set(path, { descriptor, readAtMonotonic: this.clock.monotonic() });
    return length === undefined ? undefined : this.text(length);
  }

  private open(path: string): number | undefined {
    try {
      return openSync(path, 'r');
    } catch (error) {
      // Other work needs the descriptors more urgently.
      if (hasCode(error, 'EMFILE', 'ENFILE')) this.closeAll();
      return undefined;
    }
  }

  private readInto(descriptor: number): number | undefined {
    try {
      return readSync(descriptor, this.buffer, 0, maxKernelFileBytes, 0);
    } catch {
      return undefined;
    }
  }

  private text(length: number): string {
    return this.buffer.toString('latin1', 0, length);
  }

  private close(path: string, { descriptor }: Kept): void {
    this.kept.delete(path);
    closeSync(descriptor);
  }
}

/** Returns undefined if it cannot be read now. */
function mostFiles(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Math.min(most.files, Math.floor(Number(limit ?? most.files) * most.share));
  } catch {
    return undefined;
  }
}
