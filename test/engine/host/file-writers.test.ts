import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { findWriters, isStillWriting, type Writer } from '../../../src/engine/host/file-writers.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { withoutDescriptors } from '../../support/without-descriptors.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder, 'pod.yaml');
  await writeFile(path, '');
});

async function opened(flags: string, name = path): Promise<FileHandle> {
  const file = await open(name, flags);
  onTestFinished(() => file.close());
  return file;
}

const pidsOf = (writers: ReadonlyMap<string, Writer>): Record<string, number> =>
  Object.fromEntries([...writers].map(([file, { pid }]) => [file, pid]));

/** Every process of the machine is looked at, which takes its time where there are many. */
const timeout = 60_000;

test.each(['w', 'a', 'r+'])('finds who has a file open with %j, until it is closed', { timeout }, async (flags) => {
  const file = await opened(flags);
  const writer = (await findWriters([path])).get(path);
  expect(writer).toEqual({ pid: process.pid, fd: String(file.fd), command: expect.any(String) as string });
  if (writer === undefined) return;
  expect(await isStillWriting(path, writer)).toBe(true);
  await file.close();
  expect(await isStillWriting(path, writer)).toBe(false);
  expect(await findWriters([path])).toEqual(new Map());
});

test('leaves readers out', { timeout }, async () => {
  await opened('r');
  expect(await findWriters([path])).toEqual(new Map());
});

test('finds another process, and names its program', { timeout }, async () => {
  // It says so when it has opened the file.
  const child = execa('sh', ['-c', 'exec 3>>"$0"; echo open; read line', path], { stdin: 'pipe' });
  const isOpen = new Promise((resolve) => child.stdout.once('data', resolve));
  await isOpen;
  expect((await findWriters([path])).get(path)).toEqual({ pid: child.pid, fd: '3', command: 'sh' });
  child.stdin.end('\n');
  await child;
  expect(await findWriters([path])).toEqual(new Map());
});

test('leaves out a process that begins a program and does not come to an end', { timeout }, async () => {
  const file = await opened('w');
  const clock = new FakeClock();
  const look = (pid: string, done: (error: unknown) => void): void => {
    if (pid === String(process.pid)) void clock.advance(1000);
    else done(null);
  };
  expect(await findWriters([path], { look, clock })).toEqual(new Map());
  expect((await findWriters([path])).get(path)).toMatchObject({ pid: process.pid, fd: String(file.fd) });
});

test('follows links, and looks for several files at once', { timeout }, async () => {
  const other = join(folder, 'other.yaml');
  await writeFile(other, '');
  const linked = join(folder, 'linked.yaml');
  await symlink('pod.yaml', linked);
  await opened('a');
  expect(pidsOf(await findWriters([linked, other, path]))).toEqual({ [linked]: process.pid, [path]: process.pid });
});

test('takes another file of that name for another file', { timeout }, async () => {
  await opened('a');
  await rename(path, join(folder, 'old'));
  await writeFile(path, '');
  expect(await findWriters([path])).toEqual(new Map());
});

test(
  'knows a writer by the file, not by the number: what is opened there next is something else',
  { timeout },
  async () => {
    const file = await opened('a');
    const writer: Writer = { pid: process.pid, fd: String(file.fd), command: '' };
    expect(await isStillWriting(path, writer)).toBe(true);
    await rename(path, join(folder, 'old'));
    await writeFile(path, '');
    expect(await isStillWriting(path, writer)).toBe(false);
  },
);

test('finds a writer that reaches the file by another mount', { timeout }, async () => {
  const child = execa('unshare', ['--mount', 'sh', '-c', 'exec 3>>"$0"; echo open; read line', path], {
    stdin: 'pipe',
  });
  await Promise.race([child, once(child.stdout, 'data')]);
  expect((await findWriters([path])).get(path)).toEqual({ pid: child.pid, fd: '3', command: 'sh' });
  child.stdin.end('\n');
  await child;
});

test('of a file that is gone there is no writer', { timeout }, async () => {
  const missing = join(folder, 'missing.yaml');
  expect(await findWriters([missing])).toEqual(new Map());
  expect(await isStillWriting(missing, { pid: process.pid, fd: '1', command: '' })).toBe(false);
});

test('without a descriptor left there is no answer, rather than no writer', { timeout }, async () => {
  const file = await opened('a');
  const writer: Writer = { pid: process.pid, fd: String(file.fd), command: '' };
  await withoutDescriptors(async () => {
    await expect(isStillWriting(path, writer)).rejects.toThrow('EMFILE');
    await expect(findWriters([path])).rejects.toThrow('EMFILE');
  });
  expect(await isStillWriting(path, writer)).toBe(true);
});

test('the mounts of a process are read once, not for each of its files of that name', { timeout }, async () => {
  const other = join(folder, 'other');
  await mkdir(other);
  const script = 'for (1..300) { open my $file, ">>", $ARGV[0] or die; push @all, $file }';
  const words = ['--mount', 'perl', '-e', `${script} $| = 1; print "open\\n"; <STDIN>`, join(other, 'pod.yaml')];
  const child = execa('unshare', words, { stdin: 'pipe' });
  await Promise.race([child, once(child.stdout, 'data')]);
  const before = bytesRead();
  expect(await findWriters([path])).toEqual(new Map());
  expect(bytesRead() - before).toBeLessThan(100 * readFileSync('/proc/self/mountinfo').length);
  child.stdin.end('\n');
  await child;
});

/** Bytes that this process has read from files and pipes so far. */
const bytesRead = (): number => Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);

test('other work gets its turn while thousands of open files of one process are read', { timeout }, async () => {
  const script =
    'open my $file, "<", "/dev/null"; for (1..15000) { open my $copy, "<&", $file or die; push @all, $copy }';
  const child = execa('perl', ['-e', `${script} $| = 1; print "open\\n"; <STDIN>`], { stdin: 'pipe' });
  await Promise.race([child, once(child.stdout, 'data')]);
  const turns = await cpuOfTurns(() => findWriters([path]));
  child.stdin.end('\n');
  await child;
  // Not the longest turn, which may be a collection of garbage of other tests.
  const all = turns.reduce((sum, one) => sum + one, 0);
  expect(turns.filter((one) => one > all / 100).length).toBeGreaterThan(10);
});

/** Microseconds of CPU of each turn of the event loop meanwhile. */
async function cpuOfTurns(act: () => Promise<unknown>): Promise<number[]> {
  const used = (): number => process.cpuUsage().user + process.cpuUsage().system;
  const turns: number[] = [];
  let last = used();
  const turn = (): void => {
    turns.push(used() - last);
    last = used();
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await act();
  clearImmediate(next);
  turns.push(used() - last);
  return turns;
}
