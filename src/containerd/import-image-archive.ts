import { constants, createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isSystemError, UserError } from '../errors.ts';
import { readFailure } from '../file-failure.ts';
import { verifyArchiveChecksum } from './archive-checksum.ts';
import { type ImageStore, isFileError, reasonOf, runCtr, withoutTransferService } from './ctr.ts';
import type { ImportProgress } from './import-progress.ts';

/**
 * The label that protects an image from garbage collection by CRI clients; containerd 1.6.22, 1.7.3 and newer support
 * it.
 */
const pinnedLabel = 'io.cri-containerd.pinned=pinned';

export interface ImportOptions {
  /** If true, unused images are not garbage-collected. */
  readonly pinned?: boolean;
  readonly signal?: AbortSignal;
  /** Called for each part that was read. */
  readonly onProgress?: (progress: ImportProgress) => void;
}

/**
 * Imports and unpacks an OCI or Docker image archive (plain or gzip). Resolves to the names of its images. The CRI
 * lists them a moment later, after containerd's image event. Imports nothing if a checksum beside the archive differs.
 */
export async function importImageArchive(
  store: ImageStore,
  file: string,
  options: ImportOptions = {},
): Promise<string[]> {
  await verifyArchiveChecksum(file, options.signal);
  try {
    const archive = await openArchive(file, options.onProgress);
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
    throw new UserError(`Could not import the image archive ${file}: ${reasonOf(cause)}`, {
      ...(!isSystemError(cause) && {
        hint: 'An archive is what `docker save`, `podman save` or `ctr images export` writes.',
      }),
      cause,
    });
  }
}

/** Names of images in the output of `ctr images import`: a line `unpacking <name> (sha256:…)...done` for each. */
export function parseImportedNames(output: string): string[] {
  return [...output.matchAll(/^unpacking (\S+) \(sha256:/gm)].flatMap(([, name]) => name ?? []);
}

/** Imports from stdin, because the progress of ctr's own reading is unknown. */
function importArguments(store: ImageStore): string[] {
  const snapshotter = store.snapshotter === undefined ? [] : ['--snapshotter', store.snapshotter];
  return ['images', 'import', ...withoutTransferService(store), ...snapshotter, '-'];
}

/** Opens an archive, uncompressed. */
async function openArchive(file: string, onProgress: ImportOptions['onProgress']): Promise<Readable> {
  const { isGzip, totalBytes } = await lookAt(file);
  const source = createReadStream(file, { highWaterMark: 1 << 20 });
  let readBytes = 0;
  onProgress?.({ file, readBytes, totalBytes });
  source.on('data', (chunk) => {
    readBytes += chunk.length;
    onProgress?.({ file, readBytes, totalBytes });
  });
  // Paused until it has a reader.
  source.pause();
  if (!isGzip) return source;
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  return source.pipe(gunzip);
}

async function lookAt(file: string): Promise<{ isGzip: boolean; totalBytes: number }> {
  // Does not block on a named pipe, which is refused below.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new UserError('it is not a regular file');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return { isGzip: bytesRead === 2 && buffer.readUInt16BE() === 0x1f8b, totalBytes: stats.size };
  } finally {
    await handle.close();
  }
}
