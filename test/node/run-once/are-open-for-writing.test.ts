import { type FileHandle, open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { areOpenForWriting } from '../../../src/node/run-once/are-open-for-writing.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder, '0.log');
  await writeFile(path, '');
});

async function opened(flags: string): Promise<FileHandle> {
  const file = await open(path, flags);
  onTestFinished(() => file.close());
  return file;
}

/** Checks every process of the machine, which takes long if there are many. */
const timeout = 60_000;

test.each(['w', 'a', 'r+'])('is true while a file is open with %j', { timeout }, async (flags) => {
  const file = await opened(flags);
  expect(await areOpenForWriting([join(folder, 'missing'), path])).toBe(true);
  await file.close();
  expect(await areOpenForWriting([path])).toBe(false);
});

test('is true while another process with its own mounts has a file open', { timeout }, async () => {
  const script = 'exec 3>>"$0"; echo open; read line';
  const child = execa('unshare', ['--mount', 'sh', '-c', script, path], { stdin: 'pipe' });
  const isOpen = new Promise((resolve) => child.stdout.once('data', resolve));
  await isOpen;
  expect(await areOpenForWriting([path])).toBe(true);
  child.stdin.end('\n');
  await child;
  expect(await areOpenForWriting([path])).toBe(false);
});

test('is false for a reader, and for a writer of another file of that name', { timeout }, async () => {
  await opened('r');
  expect(await areOpenForWriting([path])).toBe(false);
  await opened('a');
  await rename(path, join(folder, 'old'));
  await writeFile(path, '');
  expect(await areOpenForWriting([path])).toBe(false);
});
