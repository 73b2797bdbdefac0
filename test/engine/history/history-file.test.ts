import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import {
  appendHistory,
  historyPath,
  ownerOfHistoryFile,
  readHistory,
} from '../../../src/engine/history/history-file.ts';
import { fillDisk, mountSmallDisk } from '../../support/full-disk.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = historyPath(join(folder, 'history'), { namespace: 'default', name: 'web-edge1' });
});

const append = (lines: string): Promise<void> => appendHistory(path, lines, () => '"carried"\n');

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

test('lines are appended to a file that only its owner may read', async () => {
  await append('"one"\n');
  await append('"two"\n"three"\n');
  expect(linesOf(await readHistory(path))).toEqual(['"one"', '"two"', '"three"']);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, 'history'))).mode & 0o777).toBe(0o700);
});

test('wherever a write was cut, all lines before it and after it are read', async () => {
  const whole = '"first"\n"second"\n';
  for (let cut = 0; cut <= whole.length; cut++) {
    await rm(path, { force: true });
    await append(whole);
    await truncate(path, cut);
    await append('"third"\n');
    const kept = linesOf(whole.slice(0, cut)).filter((line) => linesOf(whole).includes(line));
    const read = linesOf(await readHistory(path)).filter((line) => [...linesOf(whole), '"third"'].includes(line));
    expect(read).toEqual([...kept, '"third"']);
  }
});

test('lines that do not fit on the disk leave none of them', async () => {
  await mountSmallDisk(folder, 64);
  await append('"first"\n');
  await fillDisk(folder);
  const lines = `"${'x'.repeat(3000)}"\n`.repeat(2);
  await expect(append(lines)).rejects.toThrow('ENOSPC');
  expect(await readFile(path, 'utf8')).toBe('"first"\n');
});

test('a file never grows beyond its bound, and what is carried begins each new one', async () => {
  const line = (index: number): string => `"${String(index).padStart(5, '0')} ${'x'.repeat(500)}"\n`;
  for (let index = 0; index < 300; index++) await append(line(index));
  const names = await readdir(join(folder, 'history'));
  expect(names.sort()).toEqual([basename(path), `${basename(path)}.1`]);
  for (const name of names) expect((await stat(join(folder, 'history', name))).size).toBeLessThanOrEqual(32 * 1024);
  const read = linesOf(await readHistory(path));
  expect(linesOf(await readFile(path, 'utf8'))[0]).toBe('"carried"');
  expect(read.at(-1)).toBe(line(299).trimEnd());
  // Two files of 32 KiB, of which the older one is full.
  expect(read.length).toBeGreaterThan((32 * 1024) / line(0).length);
});

test('a link in the place of the file is not followed', async () => {
  const target = join(folder, 'target');
  await writeFile(target, '');
  await append('"one"\n');
  await rm(path);
  await symlink(target, path);
  await expect(append('"two"\n')).rejects.toMatchObject({ code: 'ELOOP' });
  await expect(readHistory(path)).rejects.toThrow(`${path} is a link, not a regular file`);
  expect(await readFile(target, 'utf8')).toBe('');
});

test('the longest names that pods may have are names of files', () => {
  const longest = { namespace: 'n'.repeat(63), name: 'p'.repeat(253) };
  const file = basename(historyPath(folder, longest));
  expect(Buffer.byteLength(`${file}.1`)).toBeLessThanOrEqual(255);
  expect(historyPath(folder, longest)).not.toBe(historyPath(folder, { ...longest, name: `${'p'.repeat(252)}q` }));
});

test('a file reports which pod it is', () => {
  expect(ownerOfHistoryFile('kube-system_etcd-edge1.jsonl')).toEqual({ namespace: 'kube-system', name: 'etcd-edge1' });
  expect(ownerOfHistoryFile('kube-system_etcd-edge1.jsonl.1')).toBeUndefined();
  expect(ownerOfHistoryFile('default_Job.pi.jsonl')).toEqual({ namespace: 'default', name: 'Job.pi' });
  // Its name is cut, and would be that of another pod.
  const long = { namespace: 'n'.repeat(60), name: 'p'.repeat(200) };
  expect(ownerOfHistoryFile(basename(historyPath('/', long)))).toBeUndefined();
});

test('a named pipe in its place is neither waited for nor written to', async () => {
  await mkdir(dirname(path), { recursive: true });
  execFileSync('mkfifo', [path]);
  await expect(append('"two"\n')).rejects.toThrow(`${path} is not a regular file`);
  await expect(readHistory(path)).rejects.toThrow(`${path} is a named pipe, not a regular file`);
});
