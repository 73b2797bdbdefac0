import { constants, createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { addAbortSignal, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isSystemError, UserError } from '../errors.ts';
import { readFailure } from '../files/file-failure.ts';
import { verifyArchiveChecksum } from './archive-checksum.ts';
import { type ImageStore, isFileError, reasonOf, runCtr, withoutTransferService } from './ctr.ts';
import type { ImportProgress } from './import-progress.ts';

/**
 * The label that protects an image from garbage collection by CRI clients. Supported by containerd 1.6.22, 1.7.3 and
 * newer.
 */
const pinnedLabel = 'io.cri-containerd.pinned=pinned';

export interface ImportOptions {
  /** If true, unused images are not garbage-collected. */
  readonly pinned?: boolean;
  /** The archive as a stream. Undefined if it is in the file. */
  readonly input?: Readable | undefined;
  readonly signal?: AbortSignal;
  /** Called for each chunk read. */
  readonly onProgress?: (progress: ImportProgress) => void;
}

/**
 * Imports and unpacks an OCI or Docker image archive (plain or gzip) from the file, or from an `input` with that name.
 * Resolves to the names of its images. The CRI lists them a moment later, after containerd's image event. Imports
 * nothing if the checksum file next to the archive does not match.
 */
export async function importImageArchive(
  store: ImageStore,
  file: string,
  options: ImportOptions = {},
): Promise<string[]> {
  const { input } = options;
  if (input === undefined) await verifyArchiveChecksum(file, options.signal);
  try {
    // If the input is a pipe, its writer may never write.
    if (input !== undefined && options.signal !== undefined) addAbortSignal(options.signal, input);
    const archive = await (input === undefined ? openArchive(file, options.onProgress) : uncompressed(input));
    const output = await runCtr(store, importArguments(store), { signal: options.signal, input: archive });
    const names = parseImportedNames(output);
    if (names.length === 0) throw new UserError('it has no image for this machine');
    if (options.pinned === true) {
      for (const name of names) await runCtr(store, ['images', 'label', name, pinnedLabel], { signal: options.signal });
    }
    return names;
  } catch (cause) {
    options.signal?.throwIfAborted();
    if (isFileError(cause)) {
      throw new UserError(`Could not import the image archive ${file}: ${readFailure(cause)}`, { cause });
    }
    const reason = reasonOf(cause);
    throw new UserError(`Could not import the image archive ${file}: ${reason}`, {
      ...(!isSystemError(cause) && { hint: hintOf(reason) }),
      cause,
    });
  }
}

const hintOf = (reason: string): string =>
  reason.includes('no space left on device')
    ? 'Make room on the disk of the container runtime.'
    : 'An archive is what `docker save`, `podman save` or `ctr images export` writes.';

/**
 * Returns the image names in the output of `ctr images import`, which has a line `unpacking <name> (sha256:…)...done`
 * for each.
 */
export function parseImportedNames(output: string): string[] {
  return [...output.matchAll(/^unpacking (\S+) \(sha256:/gm)].flatMap(([, name]) => name ?? []);
}

/** Imports from stdin, because ctr does not report how much it has read. */
function importArguments(store: ImageStore): string[] {
  const snapshotter = store.snapshotter === undefined ? [] : ['--snapshotter', store.snapshotter];
  return ['images', 'import', ...withoutTransferService(store), ...snapshotter, '-'];
}

/** Opens an archive and decompresses it. */
async function openArchive(file: string, onProgress: ImportOptions['onProgress']): Promise<Readable> {
  const { isGzip, totalBytes } = await readArchiveHead(file);
  const source = createReadStream(file, { highWaterMark: 1 << 20 });
  let readBytes = 0;
  onProgress?.({ file, readBytes, totalBytes });
  source.on('data', (chunk) => {
    readBytes += chunk.length;
    onProgress?.({ file, readBytes, totalBytes });
  });
  // Paused until it has a reader.
  source.pause();
  return isGzip ? gunzipped(source) : source;
}

function gunzipped(source: Readable): Readable {
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  return source.pipe(gunzip);
}

/** Decompresses an archive that comes as a stream. */
async function uncompressed(input: Readable): Promise<Readable> {
  const chunks = (input as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    head = Buffer.concat([head, next.value]);
    if (head.length >= magicLength) break;
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  const source = Readable.from(whole(), { objectMode: false });
  return beginsAsGzip(head) ? gunzipped(source) : source;
}

const magicLength = 2;
const beginsAsGzip = (head: Buffer): boolean => head.length >= magicLength && head.readUInt16BE() === 0x1f8b;

async function readArchiveHead(file: string): Promise<{ isGzip: boolean; totalBytes: number }> {
  // Does not block on a named pipe, which is rejected below.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new UserError('it is not a regular file');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(magicLength), 0, magicLength, 0);
    return { isGzip: beginsAsGzip(buffer.subarray(0, bytesRead)), totalBytes: stats.size };
  } finally {
    await handle.close();
  }
}
