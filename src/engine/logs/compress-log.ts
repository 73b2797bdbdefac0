import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { OpenFolder } from '../host/open-folder.ts';
import { openRegularFile } from '../../files/regular-file.ts';
import { compressedName, temporaryName } from './rotated-names.ts';

const writeNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const modeWhileWriting = 0o600;
/**
 * Size in bytes. Each piece goes to another thread and back, which for small pieces costs as much as compressing them.
 */
const blockBytes = 256 * 1024;
const chunkSize = 64 * 1024;

/**
 * Replaces a rotated log with its compressed form, `<name>.gz`, which has the same mode and survives a power cut. If
 * that fails, for example on a full disk, leaves no partial file. Rejects if the log is still being written. kubelet:
 * logs/container_log_manager.go compressLog
 */
export async function compressLog(folder: OpenFolder, name: string, signal: AbortSignal): Promise<void> {
  const source = await openRegularFile(folder.at(name));
  try {
    const target = await open(folder.at(temporaryName(name)), writeNew, modeWhileWriting);
    try {
      await compress(source, target, signal);
      await rename(folder.at(temporaryName(name)), folder.at(compressedName(name)));
    } catch (error) {
      await rm(folder.at(temporaryName(name)), { force: true });
      throw error;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
  await unlink(folder.at(name));
}

async function compress(source: FileHandle, target: FileHandle, signal: AbortSignal): Promise<void> {
  const gzip = createGzip({ chunkSize });
  let bytes = 0;
  // Reuses one block, because Node's stream would leave megabytes to the garbage collector.
  let block = Buffer.allocUnsafeSlow(blockBytes);
  const blocks = async function* (): AsyncGenerator<Buffer, void> {
    for (;;) {
      // The stream still uses the last block.
      if (gzip.writableLength > 0) block = Buffer.allocUnsafeSlow(blockBytes);
      const { bytesRead } = await source.read(block, 0, blockBytes, bytes);
      if (bytesRead === 0) return;
      bytes += bytesRead;
      yield block.subarray(0, bytesRead);
    }
  };
  await pipeline(blocks, gzip, (chunks) => writeFile(target, chunks), { signal });
  const { size, mode } = await source.stat();
  if (size !== bytes) throw new Error('the log is still written');
  await target.chmod(mode & 0o777);
  await target.sync();
}
