import { beforeEach, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { DriverUsageCache } from '../../../src/engine/stats/driver-usage-cache.ts';
import type { StatsPod } from '../../../src/engine/stats/stats-pods.ts';
import type { MeasuredVolume } from '../../../src/engine/volumes/measured-volume.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const pod: StatsPod = {
  ...{ uid: 'u1', name: 'web-edge1', namespace: 'default', startedAt: 0, sandboxID: 's1', hasNetwork: true },
  containers: [],
};
const time = '2025-01-01T00:00:00.000Z';
const pvcRef = { name: 'data', namespace: 'default' };
const volumes: MeasuredVolume[] = [
  { name: 'data', specName: 'pv-1', path: '/p/data', method: 'driver', driver: 'slow', pvcRef },
  { name: 'more', specName: 'more', path: '/p/more', method: 'driver', driver: 'slow' },
  { name: 'scratch', specName: 'scratch', path: '/p/scratch', method: 'driver', driver: 'quick' },
  { name: 'cache', specName: 'cache', path: '/p/cache', method: 'files', driver: '' },
];
const manifest: Pod = makeStaticPod('web', {
  uid: 'u1',
  spec: { containers: [], volumes: [{ name: 'scratch', csi: { driver: 'quick' } }] },
});

let clock: FakeClock;
/** What drivers were asked, by name of the volume's folder. */
let calls: string[];
let answers: Readonly<Record<string, () => Promise<{ usedBytes: number } | undefined>>>;

beforeEach(() => {
  clock = new FakeClock(Date.parse(time));
  calls = [];
  const used = (usedBytes: number) => () => Promise.resolve({ usedBytes });
  answers = { 'pv-1': used(1), more: () => Promise.resolve(undefined), scratch: used(3) };
});

function cacheWith({ volumeStatsAggPeriodMs = 60_000 } = {}): DriverUsageCache {
  return new DriverUsageCache({
    volumeStatsAggPeriodMs,
    podOf: () => manifest,
    volumesOf: () => volumes,
    driverUsage: (uid, specName) => {
      calls.push(`${uid}/${specName}`);
      return answers[specName]?.() ?? Promise.resolve(undefined);
    },
    clock,
    random: () => 0,
    logger: silentLogger,
  });
}

test('drivers are asked in the background, once in a period', async () => {
  const cache = cacheWith();
  cache.refresh([pod]);
  expect(cache.of('u1')).toEqual([]);
  await clock.advance(0);
  expect(cache.of('u1')).toEqual([
    { name: 'data', time, usedBytes: 1, pvcRef },
    { name: 'scratch', time, usedBytes: 3 },
  ]);
  await clock.advance(59_000);
  cache.refresh([pod]);
  await clock.advance(1000);
  expect(calls.toSorted()).toEqual(['u1/more', 'u1/pv-1', 'u1/scratch']);
  cache.refresh([pod]);
  await clock.advance(0);
  expect(calls).toHaveLength(6);
});

test('a driver that hangs is asked once at a time for ten seconds, and delays no other', async () => {
  answers = { ...answers, 'pv-1': () => new Promise(() => undefined) };
  const cache = cacheWith();
  cache.refresh([pod]);
  await clock.advance(9000);
  cache.refresh([pod]);
  expect(calls.toSorted()).toEqual(['u1/pv-1', 'u1/scratch']);
  expect(cache.of('u1')).toEqual([{ name: 'scratch', time, usedBytes: 3 }]);
  await clock.advance(1000);
  cache.refresh([pod]);
  // The other volume of this driver waits for the next turn.
  expect(calls).toHaveLength(2);
  await clock.advance(60_000);
  cache.refresh([pod]);
  expect(calls.toSorted()).toEqual(['u1/pv-1', 'u1/pv-1', 'u1/scratch', 'u1/scratch']);
});

test('removed pods are dropped, and a negative period asks nothing', async () => {
  const cache = cacheWith();
  cache.refresh([pod]);
  await clock.advance(0);
  cache.refresh([]);
  expect(cache.of('u1')).toEqual([]);
  calls = [];
  cacheWith({ volumeStatsAggPeriodMs: -1 }).refresh([pod]);
  expect(calls).toEqual([]);
});
