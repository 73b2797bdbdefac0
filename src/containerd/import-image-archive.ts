import { addAbortSignal, type Readable } from 'node:stream';
import { isSystemError, UserError } from '../errors.ts';
import { readFailure } from '../files/file-failure.ts';
import { verifyArchiveChecksum } from './archive-checksum.ts';
import { type ImageStore, isFileError, reasonOf, runCtr, withoutTransferService } from './ctr.ts';
import type { ImportProgress } from './import-progress.ts';
import { openArchive, uncompressed } from './open-archive.ts';

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
