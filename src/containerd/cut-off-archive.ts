import { hasCode, UserError } from '../errors.ts';
import { openArchive } from './open-archive.ts';

/** The end of an image archive is missing. The file cannot be imported as it is. */
export class CutOffArchiveError extends UserError {
  constructor(file: string, cause?: unknown) {
    const hint = 'Copy the archive again, or save it again.';
    super(`Could not import the image archive ${file}: its end is missing`, { hint, cause });
  }
}

/** A tar archive ends in so many zero bytes at least. */
const endBytes = 1024;

/** True if an archive lacks its end, as after a copy or a download that broke off. Reads the whole archive. */
export async function isCutOff(file: string, signal: AbortSignal): Promise<boolean> {
  let end = Buffer.alloc(0);
  try {
    for await (const chunk of (await openArchive(file)) as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      end = Buffer.concat([end, chunk.subarray(-endBytes)]).subarray(-endBytes);
    }
  } catch (error) {
    signal.throwIfAborted();
    return hasCode(error, 'Z_BUF_ERROR', 'Z_DATA_ERROR');
  }
  return end.length < endBytes || end.some((byte) => byte !== 0);
}
