import type { FileHandle } from 'node:fs/promises';
import { openRegularFile } from '../../files/regular-file.ts';
import { type ELFHeader, readELFHeader } from './elf-header.ts';

/** Enough for the header. If the name of the loader is further on, the new program's loader is searched for instead. */
const headBytes = 64 * 1024;

/** Reads the header of an installed program. Returns undefined for another file. Rejects with a file system error. */
export async function readHeaderOf(program: string): Promise<ELFHeader | undefined> {
  return withFile(program, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return readELFHeader(buffer.subarray(0, bytesRead));
  });
}

/** True if an installed program has this content. Does not read it into memory. Rejects with a file system error. */
export async function isProgram(program: string, content: Buffer): Promise<boolean> {
  return withFile(program, async (file) => {
    let at = 0;
    for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      if (!content.subarray(at, at + chunk.length).equals(chunk)) return false;
      at += chunk.length;
    }
    return at === content.length;
  });
}

async function withFile<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await openRegularFile(path);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
