import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { identify } from '../../src/process/process-identity.ts';
import { withFileLock, holderText } from '../../src/files/file-lock.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function lockFolder(): Promise<string> {
  return join(await temporaryFolder(), 'lock');
}

test('one of many callers works at a time, in order', async () => {
  const folder = await lockFolder();
  let atWork = 0;
  const most: number[] = [];
  const turns = Array.from({ length: 20 }, (_, turn) =>
    withFileLock(folder, systemClock, async () => {
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

test('a lock that another process holds for long is checked four times a second', async () => {
  const folder = await lockFolder();
  await mkdir(folder);
  await symlink(await holderText(process.ppid), join(folder, '1'));
  const waits: number[] = [];
  const clock = Object.assign(new FakeClock(), {
    sleep: (ms: number): Promise<void> => {
      waits.push(ms);
      return waits.length < 9 ? Promise.resolve() : Promise.reject(new Error('enough'));
    },
  });
  await expect(withFileLock(folder, clock, () => Promise.resolve())).rejects.toThrow('enough');
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 250, 250, 250]);
});

test('a lock of a process that was removed is taken at once', async () => {
  const folder = await lockFolder();
  await mkdir(folder);
  await symlink(`${String(process.pid)} 1`, join(folder, '7'));
  expect(await withFileLock(folder, systemClock, () => readlink(join(folder, '8')))).toBe(
    `${String(process.pid)} ${(await identify(process.pid))?.startTicks ?? ''}`,
  );
  expect(await readdir(folder)).toEqual(['8']);
});

test.each(['', 'garbage', '-1 1', '1 -1', '0 0', `${'9'.repeat(400)} 1`, '../../etc/shadow', '\n1 1'])(
  'a lock that names %j as its holder is taken at once',
  async (holder) => {
    const folder = await lockFolder();
    await mkdir(folder);
    if (holder === '') await writeFile(join(folder, '7'), 'a copy of a link');
    else await symlink(holder, join(folder, '7'));
    expect(await withFileLock(folder, systemClock, () => readdir(folder))).toEqual(['8']);
  },
);

test('a lock that cannot be marked as free is free for the next one, and the work counts', async () => {
  const folder = await lockFolder();
  const inTheWay = join(folder, '1.free');
  const work = async (): Promise<string> => {
    await mkdir(join(inTheWay, 'full'), { recursive: true });
    return 'done';
  };
  expect(await withFileLock(folder, systemClock, work)).toBe('done');
  expect(await readdir(folder)).toEqual(['1.free']);
  expect(await withFileLock(folder, systemClock, () => Promise.resolve('next'))).toBe('next');
  const broken = withFileLock(folder, systemClock, () => Promise.reject(new Error('the work failed')));
  await expect(broken).rejects.toThrow('the work failed');
});

test('names that no lock has are passed over', async () => {
  const folder = await lockFolder();
  await mkdir(folder);
  for (const name of ['9'.repeat(30), '1e9', '-4', '٣', '\x1b[2J']) await writeFile(join(folder, name), '');
  expect(await withFileLock(folder, systemClock, () => readlink(join(folder, '1')))).not.toBe('');
});

test.each([
  ['as the highest', '8'],
  ['below that of a process that is gone', '6'],
])('a lock of a process that is stopped is refused, with what to do: %s', async (_title, number) => {
  const folder = await lockFolder();
  const child = spawn('sleep', ['60']);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await once(child, 'spawn');
  child.kill('SIGSTOP');
  const pid = child.pid ?? 0;
  await mkdir(folder);
  await symlink(`${String(process.pid)} 1`, join(folder, '7'));
  await symlink(await holderText(pid), join(folder, number));
  let seconds = 0;
  const hasty = { ...systemClock, monotonic: () => (seconds += 1000) };
  await expect(withFileLock(folder, hasty, () => Promise.resolve())).rejects.toMatchObject({
    message: `kubelet-ts (pid ${pid}, stopped) holds the lock ${folder}`,
    hint: `Continue it: kill -CONT ${pid}. Or end it: kill -KILL ${pid}.`,
  });
});

test('who waits for the lock and does not want it any more gives up', async () => {
  const folder = await lockFolder();
  const stopping = new AbortController();
  let leave = (): void => undefined;
  const left = new Promise<void>((resolve) => (leave = resolve));
  let first = Promise.resolve();
  await new Promise<void>((entered) => {
    first = withFileLock(folder, systemClock, () => {
      entered();
      return left;
    });
  });
  const second = withFileLock(folder, systemClock, () => Promise.resolve(), { signal: stopping.signal });
  stopping.abort(new Error('SIGTERM'));
  await expect(second).rejects.toThrow('SIGTERM');
  leave();
  await first;
});

test('what fails gives the lock back', async () => {
  const folder = await lockFolder();
  const failure = new Error('no');
  await expect(withFileLock(folder, new FakeClock(), () => Promise.reject(failure))).rejects.toBe(failure);
  expect(await withFileLock(folder, new FakeClock(), () => Promise.resolve('next'))).toBe('next');
});
