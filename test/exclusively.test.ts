import { mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { identify } from '../src/process-identity.ts';
import { exclusively } from '../src/exclusively.ts';
import { FakeClock } from './fakes/fake-clock.ts';
import { temporaryFolder } from './temporary-folder.ts';

async function lockFolder(): Promise<string> {
  return join(await temporaryFolder(), 'lock');
}

test('of many that come at once one works at a time, and each has its turn', async () => {
  const folder = await lockFolder();
  let atWork = 0;
  const most: number[] = [];
  const turns = Array.from({ length: 20 }, (_, turn) =>
    exclusively(folder, systemClock, async () => {
      most.push(++atWork);
      await readdir(folder);
      atWork -= 1;
      return turn;
    }),
  );
  expect(await Promise.all(turns)).toEqual(Array.from({ length: 20 }, (_, turn) => turn));
  expect(most).toEqual(Array.from({ length: 20 }, () => 1));
  expect(await readdir(folder)).toHaveLength(1);
});

test('a lock of a process that is gone is taken at once', async () => {
  const folder = await lockFolder();
  await mkdir(folder);
  await symlink(`${String(process.pid)} 1`, join(folder, '7'));
  expect(await exclusively(folder, systemClock, () => readlink(join(folder, '8')))).toBe(
    `${String(process.pid)} ${(await identify(process.pid))?.startTicks ?? ''}`,
  );
  expect(await readdir(folder)).toEqual(['8']);
});

test('what fails gives the lock back', async () => {
  const folder = await lockFolder();
  const failure = new Error('no');
  await expect(exclusively(folder, new FakeClock(), () => Promise.reject(failure))).rejects.toBe(failure);
  expect(await exclusively(folder, new FakeClock(), () => Promise.resolve('next'))).toBe('next');
});
