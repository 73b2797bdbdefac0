import { hasCode, UserError } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import type { Logger } from '../../logger.ts';
import { replaceFile } from '../../files/write-file-atomic.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { setAside } from '../../files/set-aside.ts';

/**
 * Reads a small file that we wrote. Resolves with undefined if it is missing or damaged, for example by a power cut. It
 * is damaged if it is no regular file, is too large, or if `parse` returns undefined or throws a SyntaxError. With
 * `logger`, which only the agent passes, a damaged file is logged and renamed. Rejects with other errors.
 */
export async function readRecordFile<T>(
  path: string,
  maxBytes: number,
  parse: (bytes: Buffer) => T | undefined,
  logger?: Pick<Logger, 'warn'>,
): Promise<T | undefined> {
  let because = 'no release of kubelet-ts writes such content';
  try {
    const bytes = await ifPresent(readRegularFile(path, maxBytes), 'ENOTDIR');
    const record = bytes && unlessBroken(bytes, parse);
    if (bytes === undefined || record !== undefined) return record;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    because = error.message;
  }
  if (logger !== undefined) await setAside(path, because, logger);
  return undefined;
}

function unlessBroken<T>(bytes: Buffer, parse: (bytes: Buffer) => T | undefined): T | undefined {
  try {
    return parse(bytes);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Writes a small file. Resolves with false if its folder is missing, for example because the pod was removed. Rejects
 * with other file system errors. If `isDurable`, the file survives a power cut once this resolves.
 */
export async function writeRecordFile(
  path: string,
  content: string | Uint8Array,
  { isDurable }: { isDurable: boolean },
): Promise<boolean> {
  try {
    await replaceFile(path, Buffer.from(content), { isDurable });
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
