import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorMessage } from '../../src/errors.ts';
import { failureText } from '../../src/node/failure-text.ts';
import { writeFileAtomic } from '../../src/files/write-file-atomic.ts';
import { mountSmallDisk } from '../support/full-disk.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('makes the folder and a file that only its owner reads', async () => {
  const folder = join(await temporaryFolder(), 'a', 'b');
  await writeFileAtomic(join(folder, 'file'), 'content');
  expect(await readdir(folder)).toEqual(['file']);
  expect(await readFile(join(folder, 'file'), 'utf8')).toBe('content');
  expect((await stat(join(folder, 'file'))).mode & 0o777).toBe(0o600);
});

test('replaces a file by a new one, and leaves one with the same content alone', async () => {
  const file = join(await temporaryFolder(), 'file');
  await writeFile(file, 'old');
  const { ino } = await stat(file);
  await writeFileAtomic(file, 'old');
  expect((await stat(file)).ino).toBe(ino);
  await writeFileAtomic(file, 'new');
  expect((await stat(file)).ino).not.toBe(ino);
  expect(await readFile(file, 'utf8')).toBe('new');
});

test('leaves nothing of a write that fails', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'file'));
  await expect(writeFileAtomic(join(folder, 'file'), 'content')).rejects.toThrow('EISDIR');
  expect(await readdir(folder)).toEqual(['file']);
});

test('an error of a full disk names the file, in its message and for the user', async () => {
  const folder = await temporaryFolder();
  await mountSmallDisk(folder, 64);
  const file = join(folder, 'file');
  const error = await writeFileAtomic(file, 'x'.repeat(100_000)).catch((error: unknown) => error);
  expect([errorMessage(error), failureText(error)]).toEqual([
    `ENOSPC: no space left on device, write '${file}'`,
    `error: cannot write ${file}: no space left on device\nhint: Free space on the disk.\n`,
  ]);
  expect(await readdir(folder)).toEqual([]);
});

test('waits for nobody who put a named pipe in its place, or in that of its new content', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'file');
  execFileSync('mkfifo', [file, `${file}.${process.pid}.tmp`]);
  await writeFileAtomic(file, 'content');
  expect(await readdir(folder)).toEqual(['file']);
  expect(await readFile(file, 'utf8')).toBe('content');
});
