import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished } from 'vitest';

/** Mounts a small file system on this folder until the test ends. */
export async function mountSmallDisk(folder: string, kibibytes: number): Promise<void> {
  await execa('mount', ['-t', 'tmpfs', '-o', `size=${String(kibibytes)}k`, 'small', folder]);
  onTestFinished(async () => {
    await execa('umount', ['--lazy', folder]);
  });
}

/** Fills all the space left on a small disk. Resolves to the path of the file that uses it. */
export async function fillDisk(folder: string): Promise<string> {
  const path = join(folder, 'ballast');
  await expect(writeFile(path, Buffer.alloc(1024 * 1024, 1))).rejects.toThrow('ENOSPC');
  return path;
}

/** Fills a small disk. Resolves with a function that makes room again. */
export async function fillUntilFreed(folder: string): Promise<() => Promise<void>> {
  const ballast = await fillDisk(folder);
  return () => rm(ballast);
}

/** Makes a small disk read-only. Resolves with a function that makes it writable again. */
export async function setReadOnly(folder: string): Promise<() => Promise<void>> {
  await execa('mount', ['-o', 'remount,ro', folder]);
  return async () => {
    await execa('mount', ['-o', 'remount,rw', folder]);
  };
}
