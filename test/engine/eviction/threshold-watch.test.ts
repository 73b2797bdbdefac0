import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { EvictionSignal } from '../../../src/api/values/eviction-thresholds.ts';
import { parseThresholdValue } from '../../../src/api/values/eviction-thresholds.ts';
import {
  memory,
  nearPeriodsMs,
  nextReadMs,
  type SignalReading,
  ThresholdWatch,
} from '../../../src/engine/eviction/threshold-watch.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

const Mi = 2 ** 20;
const Gi = 2 ** 30;
const capacityBytes = 16 * Gi;

let clock: FakeClock;
let availableBytes: number;
/** Monotonic times of reads and of notices. */
let reads: number[];
let notices: number[];

const threshold = (signal: EvictionSignal, text: string) => {
  const value = parseThresholdValue(text);
  if (value === undefined || value === 'never') throw new Error(`${text} is no threshold`);
  return { signal, value };
};

function start(
  thresholds: ReturnType<typeof threshold>[],
  read?: () => Map<EvictionSignal, SignalReading>,
  nearPeriodMs = nearPeriodsMs.normal,
): ThresholdWatch {
  const watch = new ThresholdWatch({
    ...memory,
    thresholds,
    read: () => {
      reads.push(clock.monotonic());
      return read?.() ?? new Map([['memory.available', { availableBytes, capacityBytes }]]);
    },
    nearPeriodMs,
    clock,
  });
  watch.onNotice(() => {
    notices.push(clock.monotonic());
  });
  const stopping = new AbortController();
  const running = watch.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort(new Error('the test is over'));
    await running.catch(() => undefined);
  });
  return watch;
}

beforeEach(() => {
  clock = new FakeClock();
  [reads, notices] = [[], []];
});

/** Memory shrinks at this rate until it is at `downTo`. Returns when it fell below 100 MiB, in monotonic ms. */
async function shrink(bytesPerSecond: number, downTo: number): Promise<number | undefined> {
  const stepMs = 10;
  let crossedAt: number | undefined;
  while (availableBytes > downTo) {
    availableBytes -= (bytesPerSecond * stepMs) / 1000;
    if (availableBytes < 100 * Mi) crossedAt ??= clock.monotonic();
    await clock.advance(stepMs);
  }
  return crossedAt;
}

describe('memory', () => {
  test('far from its threshold is read every twenty seconds at most', async () => {
    availableBytes = 21 * Gi;
    start([threshold('memory.available', '100Mi')]);
    await clock.advance(60_000);
    expect(reads).toEqual([0, 20_000, 40_000, 60_000]);
    availableBytes = 12 * Gi;
    await clock.advance(30_000);
    expect(reads.slice(4).map(Math.floor)).toEqual([80_000]);
    expect(notices).toEqual([]);
  });

  test('that the eviction manager reads every ten seconds is read only nearer to its threshold', async () => {
    availableBytes = 16 * Gi;
    const watch = start([threshold('memory.available', '100Mi')]);
    for (let times = 0; times < 3; times += 1) {
      await clock.advance(10_000);
      watch.observe(new Map([['memory.available', { availableBytes, capacityBytes }]]));
    }
    expect(reads).toEqual([0]);
    availableBytes = 90 * Mi;
    watch.observe(new Map([['memory.available', { availableBytes, capacityBytes }]]));
    await clock.advance(2000);
    expect(reads).toEqual([0, 31_000, 32_000]);
    // The manager knows it.
    expect(notices).toEqual([]);
  });

  test('near its threshold is read twice a second, and below it once', async () => {
    availableBytes = 120 * Mi;
    start([threshold('memory.available', '100Mi')]);
    await clock.advance(1000);
    expect(reads).toEqual([0, 500, 1000]);
    availableBytes = 99 * Mi;
    await clock.advance(3000);
    expect(reads).toEqual([0, 500, 1000, 1500, 2500, 3500]);
    expect(notices).toEqual([1500]);
  });

  test('near its threshold is read ten times a second with kernelMemcgNotification', async () => {
    availableBytes = 120 * Mi;
    start([threshold('memory.available', '100Mi')], undefined, nearPeriodsMs.notifying);
    await clock.advance(300);
    expect(reads).toEqual([0, 100, 200, 300]);
  });

  test.each([1, 30, 300, 1024])('that shrinks by %i MiB a second is noticed within half a second', async (rate) => {
    availableBytes = 9 * Gi;
    start([threshold('memory.available', '100Mi')]);
    await clock.advance(3333);
    if (rate < 300) availableBytes = 500 * Mi;
    const crossedAt = await shrink(rate * Mi, 0);
    await clock.advance(600);
    const [noticedAt = Infinity] = notices;
    expect(noticedAt - (crossedAt ?? 0)).toBeLessThanOrEqual(510);
  });

  test('that has shrunk faster than usual is read more often for a while', () => {
    expect([1, 2, 8].map((rate) => nextReadMs(4 * Gi, rate * Gi, 500))).toEqual([4000, 2000, 500]);
  });

  test('is noticed again only after it rose, and at each further threshold', async () => {
    availableBytes = 2 * Gi;
    start([threshold('memory.available', '100Mi'), threshold('memory.available', '5%')]);
    const levels = [800, 790, 90, 80, 790, 90, 2000, 800].map((level) => level * Mi);
    const noticed: number[] = [];
    for (const level of levels) {
      availableBytes = level;
      await clock.advance(2000);
      noticed.push(notices.splice(0).length);
    }
    expect(noticed).toEqual([1, 0, 1, 0, 0, 1, 0, 1]);
  });

  test('of all pods has thresholds of its own', async () => {
    let pods = Gi;
    start(
      [threshold('allocatableMemory.available', '100Mi')],
      () => new Map([['allocatableMemory.available', { availableBytes: pods, capacityBytes }]]),
    );
    pods = 50 * Mi;
    await clock.advance(1000);
    expect(notices).toHaveLength(1);
  });

  test('that cannot be read is tried again in twenty seconds', async () => {
    start([threshold('memory.available', '100Mi')], () => new Map());
    await clock.advance(40_000);
    expect(reads).toEqual([0, 20_000, 40_000]);
  });

  test('without a threshold is not read', async () => {
    start([threshold('nodefs.available', '10%')]);
    await clock.advance(60_000);
    expect(reads).toEqual([]);
  });
});
