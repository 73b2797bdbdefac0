import { lstat, mkdir, statfs, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import type { Clock } from '../../../src/clock.ts';
import { DiskUsageCache, type PodDiskUsage } from '../../../src/engine/stats/disk-usage-cache.ts';
import { Filesystems } from '../../../src/engine/stats/filesystem-stats.ts';
import type { StatsPod } from '../../../src/engine/stats/stats-pods.ts';
import type { MeasuredVolume } from '../../../src/engine/volumes/measured-volume.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { tickingClock } from '../../fakes/ticking-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const pod: StatsPod = {
  ...{ uid: 'u1', name: 'web-edge1', namespace: 'default', startedAt: 0, sandboxID: 's1', hasNetwork: true },
  containers: [{ id: 'c1', name: 'main', startedAt: 0 }],
};

let folder: string;
let clock: FakeClock;
let manifest: Pod;
/** Pods whose volumes were looked up. */
let looks: number;

beforeEach(async () => {
  folder = await temporaryFolder();
  clock = new FakeClock(Date.UTC(2025, 0, 1));
  looks = 0;
  manifest = makeStaticPod('web', { uid: 'u1' });
  await mkdir(join(folder, 'cache', 'sub'), { recursive: true });
  await writeFile(join(folder, 'cache', 'sub', 'file'), Buffer.alloc(50_000, 1));
  await mkdir(join(folder, 'logs', 'default_web-edge1_u1', 'main'), { recursive: true });
  await writeFile(join(folder, 'logs', 'default_web-edge1_u1', 'main', '0.log'), 'a line\n');
});

const volume = (name: string, parts: Partial<MeasuredVolume>): MeasuredVolume => ({
  ...{ name, specName: name, path: '', method: 'files', driver: '' },
  ...parts,
});

interface Options {
  volumeStatsAggPeriodMs?: number;
  random?: number;
  ofClock?: Clock;
  maxNames?: number;
}

function cacheWith({
  volumeStatsAggPeriodMs = 60_000,
  random = 0,
  ofClock = clock,
  ...limits
}: Options = {}): DiskUsageCache {
  return new DiskUsageCache({
    ...limits,
    volumeStatsAggPeriodMs,
    podLogsDir: join(folder, 'logs'),
    podOf: (uid) => (uid === 'u1' ? manifest : undefined),
    volumesOf: () => {
      looks += 1;
      const pvcRef = { name: 'data', namespace: 'default' };
      return [
        volume('cache', { path: join(folder, 'cache') }),
        volume('unmounted', { path: join(folder, 'missing') }),
        volume('disk', { path: folder, method: 'disk', pvcRef }),
        volume('driven', { path: folder, method: 'driver' }),
      ];
    },
    hostsFileOf: () => join(folder, 'etc-hosts'),
    terminationLogsOf: (uid, container) => join(folder, 'pods', uid, 'containers', container),
    filesystems: new Filesystems(clock),
    clock: ofClock,
    random: () => random,
    logger: silentLogger,
  });
}

/** Asks for a measurement, and waits until its usage is there. */
async function measured(cache: DiskUsageCache): Promise<PodDiskUsage | undefined> {
  const before = cache.of('u1');
  cache.refresh([pod]);
  while (cache.of('u1') === before) await lstat(folder);
  return cache.of('u1');
}

const blockBytesOf = async (...paths: string[]): Promise<number> =>
  (await Promise.all(paths.map((path) => lstat(path)))).reduce((sum, { blocks }) => sum + blocks * 512, 0);

test('measures volumes and logs in the background', async () => {
  const cache = cacheWith();
  cache.refresh([pod]);
  expect(cache.of('u1')).toBeUndefined();
  const time = '2025-01-01T00:00:00.000Z';
  const { blocks, bsize, files } = await statfs(folder);
  const logs = join(folder, 'logs', 'default_web-edge1_u1', 'main');
  const path = join(folder, 'cache');
  await writeFile(join(folder, 'etc-hosts'), '127.0.0.1 localhost\n');
  const hostsFile = { time, usedBytes: await blockBytesOf(join(folder, 'etc-hosts')), inodesUsed: 1 };
  expect(await measured(cacheWith())).toEqual({
    logs: new Map([['main', { time, usedBytes: await blockBytesOf(logs, join(logs, '0.log')), inodesUsed: 2 }]]),
    terminationLogs: new Map(),
    hostsFile,
    volumes: [
      {
        name: 'cache',
        time,
        capacityBytes: blocks * bsize,
        inodes: files,
        availableBytes: expect.any(Number) as number,
        inodesFree: expect.any(Number) as number,
        usedBytes: await blockBytesOf(path, join(path, 'sub'), join(path, 'sub', 'file')),
        inodesUsed: 3,
      },
      {
        name: 'disk',
        pvcRef: { name: 'data', namespace: 'default' },
        time,
        capacityBytes: blocks * bsize,
        inodes: files,
        availableBytes: expect.any(Number) as number,
        inodesFree: expect.any(Number) as number,
        usedBytes: expect.any(Number) as number,
        inodesUsed: expect.any(Number) as number,
      },
    ],
  });
});

test('counts what a container wrote to its termination logs, but not an empty one', async () => {
  const own = join(folder, 'pods/u1/containers/main');
  await mkdir(own, { recursive: true });
  await writeFile(join(own, 'a'), '');
  expect((await measured(cacheWith()))?.terminationLogs).toEqual(new Map());
  await writeFile(join(own, 'b'), Buffer.alloc(100_000));
  const usedBytes = await blockBytesOf(join(own, 'b'));
  expect(usedBytes).toBeGreaterThanOrEqual(100_000);
  const time = '2025-01-01T00:00:00.000Z';
  expect((await measured(cacheWith()))?.terminationLogs).toEqual(
    new Map([['main', { time, usedBytes, inodesUsed: 1 }]]),
  );
});

test('measures a pod again after one to two periods', async () => {
  const cache = cacheWith({ random: 0.5 });
  await measured(cache);
  await clock.advance(89_000);
  cache.refresh([pod]);
  await clock.advance(0);
  expect(looks).toBe(1);
  await clock.advance(1000);
  await measured(cache);
  expect(looks).toBe(2);
});

test('measures a pod with a limit on disk at every sample', async () => {
  manifest = makeStaticPod('web', {
    uid: 'u1',
    spec: { containers: [], volumes: [{ name: 'cache', emptyDir: { sizeLimit: '64Ki' } }] },
  });
  const cache = cacheWith();
  for (let sample = 0; sample < 3; sample += 1) {
    await measured(cache);
    await clock.advance(10_000);
  }
  expect(looks).toBe(3);
});

test('measuring takes at most a hundredth of the time', async () => {
  manifest = makeStaticPod('web', {
    uid: 'u1',
    spec: { containers: [], volumes: [{ name: 'cache', emptyDir: { sizeLimit: '64Ki' } }] },
  });
  // Each look at the clock takes a second.
  let readings = 0;
  const cache = cacheWith({
    ofClock: { ...tickingClock(clock), monotonic: () => clock.monotonic() + 1000 * readings++ },
  });
  await measured(cache);
  const tookMs = 1000 * (readings - 2);
  await clock.advance(99 * tookMs);
  cache.refresh([pod]);
  await clock.advance(0);
  expect(looks).toBe(1);
  await clock.advance(tookMs);
  await measured(cache);
  expect(looks).toBe(2);
});

test('a negative period measures logs alone', async () => {
  const usage = await measured(cacheWith({ volumeStatsAggPeriodMs: -1 }));
  expect(usage?.logs.size).toBe(1);
  expect(usage?.volumes).toBeUndefined();
  expect(looks).toBe(0);
});

test('a volume with more files than the limit counts as one with so many', async () => {
  const usage = await measured(cacheWith({ maxNames: 2 }));
  expect(usage?.volumes?.find(({ name }) => name === 'cache')?.inodesUsed).toBe(2);
});

test('a link in the place of the hosts file is not followed', async () => {
  await symlink('/etc/hosts', join(folder, 'etc-hosts'));
  expect(await measured(cacheWith())).not.toHaveProperty('hostsFile');
});

test('drops removed pods', async () => {
  const cache = cacheWith();
  await measured(cache);
  cache.refresh([]);
  expect(cache.of('u1')).toBeUndefined();
});
