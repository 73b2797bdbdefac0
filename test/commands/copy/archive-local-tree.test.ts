import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, readlink, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { archiveLocalTree } from '../../../src/commands/copy/archive-local-tree.ts';
import { CopyReport } from '../../../src/commands/copy/copy-report.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { textStream } from './text-stream.ts';

let folder: string;
let stderr: ReturnType<typeof textStream>;
let report: CopyReport;

beforeEach(async () => {
  folder = await temporaryFolder();
  stderr = textStream();
  report = new CopyReport({ stderr, clock: new FakeClock() });
});

/** Archives `source` of the folder, and extracts it with this machine's tar. */
async function throughTar(name: string | undefined, archiveName?: string): Promise<string> {
  const chunks: Buffer[] = [];
  const source = { folder: join(folder, 'from'), name };
  for await (const chunk of archiveLocalTree(source, archiveName, report)) chunks.push(chunk);
  const to = await temporaryFolder();
  execFileSync('tar', ['xf', '-', '-C', to], { input: Buffer.concat(chunks) });
  return to;
}

test('a tree comes out of tar as it went in', async () => {
  const long = join('n'.repeat(200), 'é'.repeat(100));
  await mkdir(join(folder, 'from/tree', long), { recursive: true });
  await writeFile(join(folder, 'from/tree', long, 'z'.repeat(255)), 'deep');
  await writeFile(join(folder, 'from/tree/program'), 'x'.repeat(600_000), { mode: 0o755 });
  await symlink('q'.repeat(300), join(folder, 'from/tree/link'));
  const to = await throughTar('tree', 'copy');
  execFileSync('diff', ['-r', '--no-dereference', join(folder, 'from/tree'), join(to, 'copy')]);
  expect(await readlink(join(to, 'copy/link'))).toBe('q'.repeat(300));
  expect(stderr.text()).toBe('');
});

test('entries belong to root, with permissions and times, and without set-user-ID bits', async () => {
  await mkdir(join(folder, 'from/tree'), { recursive: true });
  const file = join(folder, 'from/tree/program');
  await writeFile(file, 'text');
  await chmod(file, 0o6754);
  await utimes(file, 1_000_000, 1_000_000);
  const chunks: Buffer[] = [];
  const source = { folder: join(folder, 'from/tree'), name: 'program' };
  for await (const chunk of archiveLocalTree(source, undefined, report)) chunks.push(chunk);
  const listed = execFileSync('tar', ['tvf', '-', '--numeric-owner', '--utc', '--full-time'], {
    input: Buffer.concat(chunks),
    encoding: 'utf8',
  });
  expect(listed.split(/\s+/)).toEqual(['-rwxr-xr--', '0/0', '4', '1970-01-12', '13:46:40', 'program', '']);
});

test('a large file goes in parts', async () => {
  await mkdir(join(folder, 'from'));
  await writeFile(join(folder, 'from/file'), '');
  await truncate(join(folder, 'from/file'), 50_000_000);
  let largest = 0;
  for await (const { length } of archiveLocalTree({ folder: join(folder, 'from'), name: 'file' }, undefined, report)) {
    largest = Math.max(largest, length);
  }
  expect(largest).toBe(256 * 1024);
});

test('the content of a folder goes without its name', async () => {
  await mkdir(join(folder, 'from'));
  await writeFile(join(folder, 'from/file'), 'text');
  expect(await readdir(await throughTar(undefined))).toEqual(['file']);
});

test('a name that is not UTF-8 stays the same bytes', async () => {
  await mkdir(join(folder, 'from/tree'), { recursive: true });
  const name = Buffer.from([0x61, 0xff, 0xfe]);
  await writeFile(Buffer.concat([Buffer.from(`${folder}/from/tree/`), name]), 'text');
  const to = await throughTar('tree');
  expect(await readdir(join(to, 'tree'), { encoding: 'buffer' })).toEqual([name]);
});

test('a file that shrinks meanwhile is filled with zeros, with a warning', async () => {
  await mkdir(join(folder, 'from'));
  const file = join(folder, 'from/file');
  await writeFile(file, 'x'.repeat(1_000_000));
  const chunks: Buffer[] = [];
  for await (const chunk of archiveLocalTree({ folder: join(folder, 'from'), name: 'file' }, undefined, report)) {
    if (chunks.length === 0) await truncate(file, 10);
    chunks.push(chunk);
  }
  const to = await temporaryFolder();
  execFileSync('tar', ['xf', '-', '-C', to], { input: Buffer.concat(chunks) });
  expect(
    (await readFile(join(to, 'file'))).equals(Buffer.concat([Buffer.from('x'.repeat(10)), Buffer.alloc(999_990)])),
  ).toBe(true);
  expect(stderr.text()).toMatch(/^warning: file shrank while it was copied\n/);
});

test('pipes are left out', async () => {
  await mkdir(join(folder, 'from'));
  execFileSync('mkfifo', [join(folder, 'from/pipe')]);
  expect(await readdir(await throughTar(undefined))).toEqual([]);
  expect(stderr.text()).toBe('warning: skipped ./pipe: only files, folders and links are copied\n');
});
