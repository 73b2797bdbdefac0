import { closeSync, openSync, readSync } from 'node:fs';

/** More than the largest file of a cgroup, or of a network with hundreds of interfaces. */
const maxFileBytes = 256 * 1024;

/**
 * Reads files that the kernel makes up, below /proc and cgroup mounts. Reads them on this thread, because that takes 10
 * µs and a thread and back takes 200. They never block and no program can replace them.
 */
export class KernelFiles {
  private readonly buffer = Buffer.allocUnsafe(maxFileBytes);

  /** Returns undefined if the file is missing or cannot be read. */
  read(path: string): string | undefined {
    let file: number | undefined;
    try {
      file = openSync(path, 'r');
      let length = 0;
      // A file of /proc is read in parts, so that only an empty part is its end.
      for (let part = -1; part !== 0 && length < maxFileBytes; length += part) {
        part = readSync(file, this.buffer, length, maxFileBytes - length, null);
      }
      return this.buffer.toString('latin1', 0, length);
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  /** The number in a file. Returns undefined also for a text such as `max`. */
  readNumber(path: string): number | undefined {
    return numberOf(this.read(path));
  }
}

/** Returns undefined unless the text is a whole number that is not negative. */
export function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+\s*$/.test(text) ? Number(text) : undefined;
}

/** The number after a key at the start of a line, as in `pgfault 12`. */
export function keyedNumber(text: string, key: string): number | undefined {
  const start = text.startsWith(`${key} `) ? 0 : text.indexOf(`\n${key} `) + 1;
  if (start === 0 && !text.startsWith(`${key} `)) return undefined;
  const end = text.indexOf('\n', start);
  return numberOf(text.slice(start + key.length + 1, end === -1 ? undefined : end));
}
