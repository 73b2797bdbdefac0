import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cutLog, launchLine, readLastLines, rotateContainerdLog } from '../../src/containerd/containerd-log.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Contents of the log and of the one that was moved away. */
const contentsOf = (log: string): Promise<string[]> =>
  Promise.all([log, `${log}.1`].map((file) => readFile(file, 'utf8').catch(() => 'missing')));

test('a long log is moved away at a start', async () => {
  const log = join(await temporaryFolder(), 'containerd.log');
  await writeFile(log, 'long');
  await rotateContainerdLog(log, 4);
  expect(await contentsOf(log)).toEqual(['long', 'missing']);
  await rotateContainerdLog(log, 3);
  expect(await contentsOf(log)).toEqual(['missing', 'ong']);
  await rotateContainerdLog(log, 3);
  expect(await contentsOf(log)).toEqual(['missing', 'ong']);
});

test('a long log of a running containerd is emptied in place', async () => {
  const log = join(await temporaryFolder(), 'containerd.log');
  await writeFile(log, 'long');
  await cutLog(log, 4);
  expect(await contentsOf(log)).toEqual(['long', 'missing']);
  await cutLog(log, 3);
  await appendFile(log, 'new');
  expect(await contentsOf(log)).toEqual(['new', 'ong']);
});

const megabytes = Buffer.from(Array.from({ length: 500_000 }, (_, index) => `line ${String(index)}\n`).join(''));

test.each([
  ['at a start', rotateContainerdLog],
  ['while containerd runs', cutLog],
])('the end of a log of any size is kept %s, for root alone', async (_, shorten) => {
  const log = join(await temporaryFolder(), 'containerd.log');
  await writeFile(log, megabytes, { mode: 0o600 });
  await shorten(log, megabytes.length - 100_000);
  expect((await readFile(`${log}.1`)).equals(megabytes.subarray(100_000))).toBe(true);
  expect((await stat(`${log}.1`)).mode & 0o777).toBe(0o600);
});

test('a log that cannot be kept is emptied nevertheless, as on a full disk', async () => {
  const log = join(await temporaryFolder(), 'containerd.log');
  await writeFile(log, 'long');
  await mkdir(`${log}.1`);
  await expect(cutLog(log, 3)).rejects.toThrow('EISDIR');
  expect(await readFile(log, 'utf8')).toBe('');
});

test('the last lines are those of this start', async () => {
  const log = join(await temporaryFolder(), 'containerd.log');
  expect(await readLastLines(log)).toEqual([]);
  await writeFile(log, 'before\none\n\ntwo\nthree\n');
  expect(await readLastLines(log, { fromByte: 7 })).toEqual(['one', 'two', 'three']);
  expect(await readLastLines(log, { fromByte: 7, lines: 2 })).toEqual(['two', 'three']);
  expect(await readLastLines(log, { fromByte: 21 })).toEqual([]);
  // It was emptied while containerd ran.
  expect(await readLastLines(log, { fromByte: 10_000, lines: 1 })).toEqual(['three']);
  await appendFile(log, `${launchLine}\nfour\n${launchLine}\nfive\n`);
  expect(await readLastLines(log)).toEqual(['five']);
  await appendFile(log, `${launchLine}\n`);
  expect(await readLastLines(log)).toEqual([]);
});
