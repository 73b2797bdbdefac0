import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { UserError } from '../../errors.ts';

interface Options {
  path: string;
  /** From this size on the file becomes `<path>.1`, in the place of the one before. */
  maxBytes: number;
}

/** A log file of one writer that only root can read, and that never takes more than twice `maxBytes`. */
export class RotatingFile {
  readonly #options: Options;
  #fd: number;
  #bytes: number;

  /** Throws a `UserError` if the path is no regular file. */
  constructor(options: Options) {
    this.#options = options;
    this.#fd = openLog(options.path);
    this.#bytes = fstatSync(this.#fd).size;
  }

  /** What a full or broken disk does not take is lost: the log of an agent must not end it. */
  write(text: string): void {
    try {
      if (this.#bytes >= this.#options.maxBytes) this.#rotate();
      this.#bytes += writeSync(this.#fd, text);
    } catch {
      // See above.
    }
  }

  #rotate(): void {
    const { path } = this.#options;
    renameSync(path, `${path}.1`);
    const fd = openLog(path);
    closeSync(this.#fd);
    this.#fd = fd;
    this.#bytes = 0;
  }
}

/** Opens a log to append to. Follows no link and waits for no reader of a pipe. */
export function openLog(path: string): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new UserError(`the log ${path} is no regular file`, { hint: 'Remove it.' });
}
