import { createHash, type Hash } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { writeFailure } from '../files/file-failure.ts';
import { replaceFile } from '../files/write-file-atomic.ts';
import { checksumFileOf } from './archive-checksum.ts';
import { type ImageStore, isFileError, reasonOf, streamCtr, withoutTransferService } from './ctr.ts';

export interface ExportOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called after each chunk, with the total bytes so far. */
  readonly onProgress?: (bytes: number) => void;
}

/** An archive that was written. */
export interface ExportedArchive {
  readonly bytes: number;
  /** Lowercase hexadecimal. */
  readonly sha256: string;
}

/** An export that writes nothing for this long has failed. */
const stallMs = 60_000;

/**
 * Writes images of this machine's platform into one OCI archive, which docker reads too, with a checksum file next to
 * it. `names` are containerd's names. If it fails, rejects with a `UserError` and leaves no partial file.
 */
export async function exportImageArchive(
  store: ImageStore,
  names: readonly string[],
  file: string,
  options: ExportOptions,
): Promise<ExportedArchive> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    const written = await writeArchive(store, names, temporary, options);
    const checksumFile = checksumFileOf(file);
    // The new archive must never be next to the checksum of an earlier one.
    await rm(checksumFile, { force: true });
    await rename(temporary, file);
    await replaceFile(checksumFile, Buffer.from(`${written.sha256}  ${basename(file)}\n`));
    await syncFolder(dirname(file));
    return written;
  } catch (cause) {
    await rm(temporary, { force: true });
    options.signal.throwIfAborted();
    const reason = isFileError(cause) ? writeFailure(file, cause) : reasonOf(cause);
    throw new UserError(`Could not write the archive ${file}: ${reason}`, { cause });
  }
}

async function writeArchive(
  store: ImageStore,
  names: readonly string[],
  file: string,
  { clock, signal, onProgress }: ExportOptions,
): Promise<ExportedArchive> {
  await rm(file, { force: true });
  // Opened here: a stream that opens its own file may still create it after it was destroyed.
  const target = await open(file, 'wx', 0o600);
  const ended = new AbortController();
  const args = ['images', 'export', ...withoutTransferService(store), '-', ...names];
  const ctr = streamCtr(store, args, AbortSignal.any([signal, ended.signal]));
  const hash = createHash('sha256');
  let bytes = 0;
  const watchdog = restartable(clock, () => {
    ended.abort(new Error(`containerd sent nothing for ${stallMs / 1000} seconds`));
  });
  const measure = measured(hash, (count) => {
    bytes += count;
    watchdog.restart();
    onProgress?.(bytes);
  });
  try {
    await Promise.all([ctr, pipeline(ctr.stdout, measure, target.createWriteStream({ flush: true }))]);
  } catch (error) {
    ended.signal.throwIfAborted();
    throw error;
  } finally {
    watchdog.stop();
    // It may still be running after a failed write.
    ended.abort();
    await ctr.catch(() => undefined);
    await target.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

function measured(hash: Hash, onBytes: (count: number) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      onBytes(chunk.length);
      done(undefined, chunk);
    },
  });
}

function restartable(clock: Clock, action: () => void): { restart: () => void; stop: () => void } {
  let stop = clock.after(stallMs, action);
  return {
    restart: () => {
      stop();
      stop = clock.after(stallMs, action);
    },
    stop: () => {
      stop();
    },
  };
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
