import { hasCode } from '../../errors.ts';
import { replaceFile } from '../../write-file-atomic.ts';
import { readRegularFile } from '../../regular-file.ts';

/**
 * A small file of ours. Resolves with undefined if it is missing, or a power cut broke it, so that `parse` throws a
 * SyntaxError. Rejects with other errors.
 */
export async function readRecordFile<T>(
  path: string,
  maxBytes: number,
  parse: (bytes: Buffer) => T,
): Promise<T | undefined> {
  try {
    return parse(await readRegularFile(path, maxBytes));
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Resolves with false if the folder of the file is missing, such as that of a removed pod. Rejects with other errors of
 * the file system. `isDurable`: the file survives a power cut.
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
