import { renameSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EmptyDirUsage, type VolumesByPod } from '../../../src/engine/eviction/empty-dir-usage.ts';
import { makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { tickingClock } from '../../fakes/ticking-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { withoutDescriptors } from '../../support/without-descriptors.ts';

const volumesWith = (sizeLimit: string) => [
  { name: 'cache', emptyDir: { sizeLimit } },
  { name: 'other', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } },
];
const volumesOfPod = volumesWith('64Ki');

/** Volumes of pod `u1`, all in one folder with a file of 100,000 bytes. */
async function emptyDirs({ sizeLimit = '64Ki', ...limits }: { maxNames?: number; sizeLimit?: string } = {}) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'file'), Buffer.alloc(100_000, 1));
  const said: string[] = [];
  const clock = new FakeClock();
  const usage = new EmptyDirUsage({
    ...limits,
    pods: () => [makePod({ metadata: { uid: 'u1' }, spec: { volumes: volumesWith(sizeLimit) } })],
    volumeManager: { emptyDirPath: () => folder },
    clock,
    logger: {
      ...silentLogger,
      warn: (facts: object) => {
        said.push(String(Reflect.get(facts, 'err')));
      },
    },
  });
  return { usage, folder, said, time: new Date(clock.now()).toISOString() };
}

test('a volume that cannot be measured is passed over, and measured the next time', async () => {
  const { usage, folder, said, time } = await emptyDirs();
  await withoutDescriptors(async () => {
    expect([...(await usage.ofLimited())]).toEqual([]);
  });
  expect(said).toEqual([`EMFILE: too many open files, open '${folder}'`]);
  const measured = await usage.ofLimited();
  const usedBytes = measured.get('u1')?.[0]?.usedBytes;
  expect([...measured]).toEqual([['u1', [{ name: 'cache', time, usedBytes, inodesUsed: 2 }]]]);
  expect(usedBytes).toBeGreaterThan(64 * 1024);
});

test('all volumes on disk are measured until the time is up', async () => {
  const { usage } = await emptyDirs();
  const names = async (signal: AbortSignal): Promise<string[]> =>
    [...(await usage.ofAll(signal)).values()].flat().map(({ name }) => name);
  expect(await names(new AbortController().signal)).toEqual(['cache', 'other']);
  expect(await names(AbortSignal.abort())).toEqual([]);
});

test('measuring takes at most a hundredth of the time', async () => {
  const folder = await temporaryFolder();
  const clock = new FakeClock();
  let [readings, looks] = [0, 0];
  const usage = new EmptyDirUsage({
    pods: () => [makePod({ metadata: { uid: 'u1' }, spec: { volumes: volumesOfPod } })],
    volumeManager: {
      emptyDirPath: () => {
        looks += 1;
        return folder;
      },
    },
    // Each look at the clock takes a second.
    clock: { ...tickingClock(clock), monotonic: () => clock.monotonic() + 1000 * readings++ },
    logger: silentLogger,
  });
  const first = await usage.ofLimited();
  await clock.advance(98_000);
  expect([await usage.ofLimited(), looks]).toEqual([first, 1]);
  await clock.advance(1000);
  await usage.ofLimited();
  expect(looks).toBe(2);
});

test('a volume with more files than the limit counts as one with so many', async () => {
  const { usage, folder } = await emptyDirs({ maxNames: 3 });
  for (const name of ['a', 'b', 'c', 'd']) await writeFile(join(folder, name), '');
  const inodes = async (measured: Promise<VolumesByPod>): Promise<unknown[]> =>
    [...(await measured).values()].flat().map(({ inodesUsed }) => inodesUsed);
  expect(await inodes(usage.ofAll(new AbortController().signal))).toEqual([3, 3]);
});

test('a volume whose folders are moved while it is measured counts as before if that is more', async () => {
  const { usage, folder } = await emptyDirs({ sizeLimit: '1Gi' });
  for (const path of ['a/x', 'a/y']) {
    await mkdir(join(folder, path), { recursive: true });
    await writeFile(join(folder, path, 'large'), Buffer.alloc(100_000, 1));
  }
  const before = (await usage.ofLimited()).get('u1');
  let looks = 0;
  const signal: AbortSignal = Object.defineProperty(new AbortController().signal, 'aborted', {
    get: () => {
      looks += 1;
      // The walk has visited the file beside `a`, and that of the first folder in `a`.
      if (looks === 3) for (const [from, to] of moves) renameSync(join(folder, from), join(folder, to));
      return false;
    },
  });
  const moves = [
    ['a/x', 'x'],
    ['a/y', 'y'],
    ['a', 'b'],
  ] as const;
  expect((await usage.ofAll(signal)).get('u1')?.[0]).toEqual(before?.[0]);
  expect(before?.[0]?.inodesUsed).toBe(7);
});
