import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { KeptFiles } from '../../../src/engine/stats/kept-files.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { withoutDescriptors } from '../../support/without-descriptors.ts';
import { openIn } from './open-in.ts';

test('a file is opened once, and read again each time', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'usage');
  const files = new KeptFiles(new FakeClock());
  writeFileSync(path, '1000\n');
  expect(files.readNumber(path)).toBe(1000);
  writeFileSync(path, '7\n');
  expect([files.readNumber(path), files.read(path)]).toEqual([7, '7\n']);
  expect(openIn(folder)).toEqual([path]);
});

test('a file that was removed is closed, and looked for again', async () => {
  const files = new KeptFiles(new FakeClock());
  const process = spawn('sleep', ['60']);
  // Like that of a removed cgroup, this open file can be read no more.
  const folder = `/proc/${process.pid ?? 0}`;
  expect(files.read(`${folder}/comm`)).toBeDefined();
  process.kill('SIGKILL');
  await once(process, 'close');
  expect([files.read(`${folder}/comm`), openIn(folder)]).toEqual([undefined, []]);
});

test('what is not read for two minutes is closed, and everything when no sample follows', async () => {
  const folder = await temporaryFolder();
  const [gone, read] = [join(folder, 'gone'), join(folder, 'read')];
  writeFileSync(gone, '1');
  writeFileSync(read, '2');
  const clock = new FakeClock();
  const files = new KeptFiles(clock);
  files.read(gone);
  for (let minutes = 0; minutes < 3; minutes++) {
    files.read(read);
    files.endSample();
    await clock.advance(60_000);
  }
  expect(openIn(folder)).toEqual([gone, read]);
  files.endSample();
  expect(openIn(folder)).toEqual([read]);
  await clock.advance(120_000);
  expect(openIn(folder)).toEqual([]);
});

test('keeps files open in a quarter of the descriptors, at most 8192', async () => {
  const folder = await temporaryFolder();
  const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  const paths = Array.from({ length: 8200 }, (_, index) => join(folder, String(index)));
  const files = new KeptFiles(new FakeClock());
  for (const [index, path] of paths.entries()) writeFileSync(path, String(index));
  const readAll = (): unknown[] => paths.map((path) => files.readNumber(path));
  expect([readAll(), readAll()]).toEqual([[...paths.keys()], [...paths.keys()]]);
  expect(openIn(folder).length).toBe(Math.min(8192, Math.floor(limit / 4)));
});

test('without descriptors the open files are closed for other work', async () => {
  const folder = await temporaryFolder();
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  writeFileSync(first, '1');
  writeFileSync(second, '2');
  const files = new KeptFiles(new FakeClock());
  files.read(first);
  const seen = await withoutDescriptors(() => Promise.resolve(files.read(second)));
  expect([seen, openIn(folder)]).toEqual([undefined, []]);
});
