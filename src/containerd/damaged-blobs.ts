import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { hasCode, isOutOfResources } from '../errors.ts';
import { ifPresent } from '../files/if-present.ts';
import { listFolder } from '../files/list-folder.ts';
import { type ImageStore, runCtr } from './ctr.ts';

/** The folder of the blobs of a containerd, below its root folder. A blob's name is its digest. */
export const blobsFolder = (root: string): string => join(root, 'io.containerd.content.v1.content/blobs/sha256');

/**
 * Removes the blobs whose content does not have their digest, such as empty ones after a power cut, so that the next
 * import or pull stores them again. containerd itself skips a blob that it has. Resolves to the digests. Reads all
 * blobs.
 */
export async function removeDamagedBlobs(store: ImageStore, root: string, signal: AbortSignal): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await listFolder(blobsFolder(root))) {
    const isWhole = sha256Of(join(blobsFolder(root), name), signal).then((sum) => sum === name);
    // containerd may have just collected it.
    if ((await ifPresent(isWhole)) !== false) continue;
    signal.throwIfAborted();
    const digest = `sha256:${name}`;
    await runCtr(store, ['content', 'rm', digest], { signal });
    removed.push(digest);
  }
  return removed;
}

/** Returns undefined if the disk cannot read the file. Rejects if it is missing, or if nothing can be read now. */
export async function sha256Of(file: string, signal: AbortSignal): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash, { signal });
    return hash.digest('hex');
  } catch (error) {
    signal.throwIfAborted();
    if (isOutOfResources(error) || hasCode(error, 'ENOENT')) throw error;
    return undefined;
  }
}
