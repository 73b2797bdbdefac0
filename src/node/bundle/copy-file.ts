import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { isSystemError, withPath } from '../../errors.ts';
import { openRegularFile } from '../../files/regular-file.ts';

/**
 * Copies a file onto the disk and returns the SHA-256 of what it read, in hex. Replaces an existing file. Rejects with
 * the error of the file system.
 */
export async function copyFileDurably(source: string, target: string, mode: number): Promise<string> {
  const from = await openRegularFile(source, { followLinks: true });
  try {
    const to = await open(target, 'w', mode);
    const hash = createHash('sha256');
    await pipeline(
      from.createReadStream({ autoClose: false }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      // Closes the file.
      to.createWriteStream({ flush: true }),
    );
    return hash.digest('hex');
  } catch (error) {
    throw withPath(error, isSystemError(error) && error.syscall === 'read' ? source : target);
  } finally {
    await from.close();
  }
}
