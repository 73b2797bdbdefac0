import { closeSync, constants, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { UserError } from '../../errors.ts';

interface Options {
  path: string;
  /** At this size the file replaces `<path>.1`. */
  maxBytes: number;
}

/** A log file with one writer. Only root can read it. It never uses more than twice `maxBytes`. */
export class RotatingFile {
  private fd: number;
  private bytes: number;

  /** Throws a `UserError` if the path is not a regular file. */
  constructor(private readonly options: Options) {
    this.fd = openLog(options.path);
    this.bytes = fstatSync(this.fd).size;
  }

  /** Drops the text if the disk is full or broken, because logging must not stop the agent. */
  write(text: string): void {
    try {
      if (this.bytes >= this.options.maxBytes) this.rotate();
      this.bytes += writeSync(this.fd, text);
    } catch {
      // See above.
    }
  }

  private rotate(): void {
    const { path } = this.options;
    renameSync(path, `${path}.1`);
    const fd = openLog(path);
    closeSync(this.fd);
    this.fd = fd;
    this.bytes = 0;
  }
}

/** Opens a log to append to. Does not follow links or block on a pipe. */
export function openLog(path: string): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new UserError(`the log ${path} is not a regular file`, { hint: 'Remove it.' });
}
