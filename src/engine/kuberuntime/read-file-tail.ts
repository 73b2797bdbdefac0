import { open } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';

/** The last `maxBytes` of a file; undefined when there is no such file. */
export async function readFileTail(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  let file;
  try {
    file = await open(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
