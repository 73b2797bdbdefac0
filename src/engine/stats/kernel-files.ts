import { closeSync, openSync, readSync } from 'node:fs';

/** More than the largest file of a cgroup, or of a network with hundreds of interfaces. */
export const maxKernelFileBytes = 256 * 1024;

/**
 * Reads files that the kernel generates, below /proc and cgroup mounts. Reads them on this thread, because that takes
 * 10 µs, and going through another thread takes 200. They never block, and no program can replace them.
 */
export class KernelFiles {
  private readonly buffer = Buffer.allocUnsafe(maxKernelFileBytes);

  /** Reads a file that the kernel returns in one read. Returns undefined if it is missing or cannot be read. */
  read(path: string): string | undefined {
    return this.readParts(path, 1);
  }

  /** Reads a file that the kernel returns in parts, such as a list. */
  readList(path: string): string | undefined {
    return this.readParts(path, Infinity);
  }

  private readParts(path: string, maxParts: number): string | undefined {
    let file: number | undefined;
    try {
      file = openSync(path, 'r');
      let length = 0;
      for (let [parts, bytes] = [0, -1]; parts < maxParts && bytes !== 0 && length < maxKernelFileBytes; parts += 1) {
        bytes = readSync(file, this.buffer, length, maxKernelFileBytes - length, null);
        length += bytes;
      }
      return this.buffer.toString('latin1', 0, length);
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  /** Reads the number in a file. Also returns undefined for a text such as `max`. */
  readNumber(path: string): number | undefined {
    return numberOf(this.read(path));
  }
}

/** Parses a whole number that is not negative. Returns undefined for anything else. */
export function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+\s*$/.test(text) ? Number(text) : undefined;
}

/** Returns the number after a key at the start of a line, as in `pgfault 12`. */
export function keyedNumber(text: string, key: string): number | undefined {
  const start = text.startsWith(`${key} `) ? 0 : text.indexOf(`\n${key} `) + 1;
  if (start === 0 && !text.startsWith(`${key} `)) return undefined;
  const end = text.indexOf('\n', start);
  return numberOf(text.slice(start + key.length + 1, end === -1 ? undefined : end));
}
