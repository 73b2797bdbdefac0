import { createHook } from 'node:async_hooks';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { appendFile, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  openRegularFile,
  readFileTail,
  readRegularFile,
  writeInPlace,
  writeNewFile,
} from '../../src/files/regular-file.ts';
import { fillDisk, mountSmallDisk } from '../support/full-disk.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder, 'message');
});

/** What a container can put in the place of a file. */
const imposters: Record<string, (at: string) => Promise<void>> = {
  'a named pipe': (at) => {
    execFileSync('mkfifo', [at]);
    return Promise.resolve();
  },
  'a directory': (at) => mkdir(at),
  'a link': (at) => symlink('/etc/hostname', at),
  'a socket': (at) =>
    new Promise((resolve) => {
      const server = createServer().listen(at, () => {
        server.unref();
        resolve();
      });
    }),
};

describe.each(Object.keys(imposters))('%s in the place of a file', (kind) => {
  beforeEach(() => imposters[kind]?.(path));

  test('is not read, and not waited for', async () => {
    const message = `${path} is ${kind}, not a regular file`;
    await expect(openRegularFile(path)).rejects.toThrow(message);
    await expect(readRegularFile(path, 10)).rejects.toThrow(message);
    await expect(readFileTail(path, 10)).rejects.toThrow(message);
    await expect(writeNewFile(path, 'new', 0o600)).rejects.toThrow('EEXIST');
  });

  test('gives way to a file of ours', async () => {
    await writeInPlace(path, 'ours', 0o644);
    expect(await readFile(path, 'utf8')).toBe('ours');
    expect((await lstat(path)).mode & 0o7777).toBe(0o644);
  });
});

test('a device is not read', async () => {
  await expect(openRegularFile('/dev/null')).rejects.toThrow('/dev/null is a device, not a regular file');
});

test('a link that is followed leads to the file, and never to a named pipe', async () => {
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  await symlink('pipe', join(folder, 'to-pipe'));
  await writeFile(path, 'log');
  await symlink('message', join(folder, 'to-message'));
  expect((await readRegularFile(join(folder, 'to-message'), 3, { followLinks: true })).toString()).toBe('log');
  await expect(readRegularFile(join(folder, 'to-pipe'), 3, { followLinks: true })).rejects.toThrow('a named pipe');
});

test('a file is read whole up to a number of bytes, and refused above it', async () => {
  await writeFile(path, 'last words');
  expect((await readRegularFile(path, 10)).toString()).toBe('last words');
  await expect(readRegularFile(path, 9)).rejects.toThrow(`${path} is larger than 9 bytes`);
});

test('a file whose size is not known is read too', async () => {
  const status = (await readRegularFile(`/proc/${process.pid}/status`, 64 * 1024)).toString();
  expect(status.split('\n').length).toBeGreaterThan(20);
});

test('writing in place keeps the file that containers have mounted', async () => {
  await writeFile(path, 'a longer text');
  const { ino } = await stat(path);
  await writeInPlace(path, 'short', 0o644);
  expect({ ino: (await stat(path)).ino, text: await readFile(path, 'utf8') }).toEqual({ ino, text: 'short' });
});

test('writing in place does not bring back a removed file, unless it may', async () => {
  const write = writeInPlace(path, 'ours', 0o644, { mayCreate: false });
  await expect(write).rejects.toMatchObject({ code: 'ENOENT' });
  await writeInPlace(path, 'ours', 0o644);
  await writeInPlace(path, 'other', 0o644, { mayCreate: false });
  expect(await readFile(path, 'utf8')).toBe('other');
});

test.each([
  { content: 'last words', maxBytes: 5, tail: 'words' },
  { content: 'last words', maxBytes: 100, tail: 'last words' },
  { content: '', maxBytes: 5, tail: '' },
])('reads the last $maxBytes bytes of "$content"', async ({ content, maxBytes, tail }) => {
  await appendFile(path, content);
  expect(Buffer.from((await readFileTail(path, maxBytes)) ?? 'no file').toString()).toBe(tail);
});

test.each([
  ['the same content', 'x'.repeat(5000), undefined],
  ['another content of this length', 'y'.repeat(5000), undefined],
  ['a shorter content', 'y'.repeat(4000), undefined],
  ['a longer content, which does not fit,', 'y'.repeat(9000), 'ENOSPC'],
])('writing %s in place on a full disk never leaves a part, and an error names the file', async (_what, next, code) => {
  await mountSmallDisk(folder, 64);
  const before = 'x'.repeat(5000);
  await writeInPlace(path, before, 0o644);
  await fillDisk(folder);
  const written = writeInPlace(path, next, 0o644);
  if (code === undefined) await written;
  else await expect(written).rejects.toThrow(`${code}: no space left on device, write '${path}'`);
  expect(await readFile(path, 'utf8')).toBe(code === undefined ? next : before);
});

test('a content that grows in place is written whole', async () => {
  await writeInPlace(path, 'short', 0o644);
  await writeInPlace(path, 'something longer', 0o644);
  expect(await readFile(path, 'utf8')).toBe('something longer');
});

test.each([
  ['grows', 'short\n', 'another one, longer\n'],
  ['shrinks', 'something longer\n', 'else\n'],
])('a kill while a content %s in place leaves the old or the new one, and blank lines', async (_what, old, next) => {
  await writeInPlace(path, old, 0o644);
  const seen = new Set<string>();
  const operations = new Set<number>();
  const hook = createHook({
    init: (id, type) => {
      if (type === 'FSREQPROMISE') operations.add(id);
    },
    before: (id) => {
      if (operations.has(id)) seen.add(readFileSync(path, 'utf8').replace(/\n+$/, '\n'));
    },
  }).enable();
  await writeInPlace(path, next, 0o644);
  hook.disable();
  expect([...seen]).toEqual([old, next]);
  expect(await readFile(path, 'utf8')).toBe(next);
});

test('the tail is undefined for a file that does not exist', async () => {
  expect(await readFileTail(path, 5)).toBeUndefined();
});
