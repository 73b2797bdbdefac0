import { beforeEach, expect, test } from 'vitest';
import { type ContainerStats, type DeepPartial, ListContainerStatsResponse } from '../../../src/cri/generated/cri.ts';
import { RuntimeStats } from '../../../src/engine/stats/runtime-stats.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

let clock: FakeClock;
let runtime: FakeRuntime;
let stats: RuntimeStats;
let warnings: number;

beforeEach(() => {
  clock = new FakeClock(Date.UTC(2025, 0, 1));
  runtime = new FakeRuntime({ clock });
  warnings = 0;
  const logger = { ...silentLogger, warn: () => (warnings += 1) };
  stats = new RuntimeStats({ runtime, imageService: runtime, clock, logger });
});

const time = '2025-01-01T00:00:00.000Z';
const nanosOf = (text: string): bigint => BigInt(Date.parse(text)) * 1_000_000n;

/** The figures of a container with these stats. */
async function figuresOf(answer: DeepPartial<ContainerStats>) {
  const response = ListContainerStatsResponse.fromPartial({ stats: [{ attributes: { id: 'c1' }, ...answer }] });
  const answering = {
    listContainerStats: () => Promise.resolve(response),
    listPodSandboxStats: runtime.listPodSandboxStats,
  };
  const deps = { runtime: answering, imageService: runtime, clock, logger: silentLogger };
  return (await new RuntimeStats(deps).containers({ maxAgeMs: 0 })).get('c1');
}

test('figures of a container are those of the runtime', async () => {
  const timestamp = nanosOf(time);
  expect(
    await figuresOf({
      cpu: { timestamp, usageCoreNanoSeconds: { value: 7_000n } },
      memory: { timestamp, workingSetBytes: { value: 10n }, usageBytes: { value: 20n } },
      swap: { timestamp, swapUsageBytes: { value: 5n } },
      writableLayer: {
        timestamp,
        fsId: { mountpoint: '/var/lib/x' },
        usedBytes: { value: 30n },
        inodesUsed: { value: 4n },
      },
    }),
  ).toEqual({
    cpu: { nanos: 7000, at: Date.parse(time) },
    memory: { time, workingSetBytes: 10, usageBytes: 20 },
    swap: { time, swapUsageBytes: 5 },
    writableLayer: { time, mountpoint: '/var/lib/x', usedBytes: 30, inodesUsed: 4 },
  });
});

test('figures that cannot be true are left out', async () => {
  const timestamp = nanosOf(time);
  const minusOne = 2n ** 64n - 1n;
  expect(
    await figuresOf({
      // From the future.
      cpu: { timestamp: nanosOf('2025-01-01T00:01:00Z'), usageCoreNanoSeconds: { value: 7_000n } },
      memory: { timestamp, workingSetBytes: { value: minusOne }, usageBytes: { value: 20n } },
      // Without a time.
      swap: { swapUsageBytes: { value: 5n } },
      writableLayer: { timestamp, fsId: { mountpoint: '/var/lib/x' }, usedBytes: { value: minusOne } },
    }),
  ).toEqual({ memory: { time, usageBytes: 20 } });
  expect(await figuresOf({ memory: { timestamp: -5n, usageBytes: { value: 20n } } })).toEqual({});
  expect(await figuresOf({})).toEqual({});
});

test('a call that hangs is given up after two seconds, and left out for a minute', async () => {
  const goOn = runtime.hang('listContainerStats');
  const asked = stats.containers({ maxAgeMs: 0 });
  await clock.advance(2000);
  expect(await asked).toEqual(new Map());
  expect(runtime.callsUnderWay).toBe(0);
  goOn();
  await clock.advance(59_000);
  await stats.containers({ maxAgeMs: 0 });
  expect(runtime.requestsOf('listContainerStats')).toHaveLength(1);
  await clock.advance(1000);
  await stats.containers({ maxAgeMs: 0 });
  expect(runtime.requestsOf('listContainerStats')).toHaveLength(2);
  expect(warnings).toBe(1);
});

test('an answer serves again while it is young enough', async () => {
  await stats.containers({ maxAgeMs: 55_000 });
  await clock.advance(54_000);
  await stats.containers({ maxAgeMs: 55_000 });
  expect(runtime.requestsOf('listContainerStats')).toHaveLength(1);
  await clock.advance(1000);
  await stats.containers({ maxAgeMs: 55_000 });
  expect(runtime.requestsOf('listContainerStats')).toHaveLength(2);
});

test('a call that the runtime does not know is left out for ten minutes, without a warning', async () => {
  expect(await stats.pods()).toEqual(new Map());
  await clock.advance(599_000);
  await stats.pods();
  expect(runtime.requestsOf('listPodSandboxStats')).toHaveLength(1);
  await clock.advance(1000);
  runtime.podStats.push({
    attributes: { metadata: { uid: 'u1' } },
    linux: {
      process: { processCount: { value: 3n } },
      network: {
        timestamp: nanosOf(time),
        defaultInterface: { name: 'eth0', rxBytes: { value: 1n } },
        interfaces: [{ name: 'eth1', txBytes: { value: 2n } }],
      },
    },
  });
  expect(await stats.pods()).toEqual(
    new Map([
      [
        'u1',
        {
          processCount: 3,
          network: {
            time,
            name: 'eth0',
            rxBytes: 1,
            interfaces: [
              { name: 'eth0', rxBytes: 1 },
              { name: 'eth1', txBytes: 2 },
            ],
          },
        },
      ],
    ]),
  );
  expect(warnings).toBe(0);
});

test('a runtime in trouble is reported once, until it answers again', async () => {
  const refusal = new Refusal(codes.unknown, 'no');
  runtime.injectError('imageFsInfo', refusal, { times: 2 });
  for (let minute = 0; minute < 3; minute += 1) {
    await stats.disks({ maxAgeMs: 0 });
    await clock.advance(60_000);
  }
  expect(warnings).toBe(1);
  runtime.injectError('imageFsInfo', refusal);
  await stats.disks({ maxAgeMs: 0 });
  expect(warnings).toBe(2);
});

test('a runtime that reports one disk has images and writable layers on it', async () => {
  const disk = { time, mountpoint: '/var/lib/fake', usedBytes: 0, inodesUsed: 0 };
  expect(await stats.disks({ maxAgeMs: 0 })).toEqual({ imageFs: disk, containerFs: disk });
});

test('an answer about disks serves again for the time that is asked for, and longer if the next call fails', async () => {
  const asked = (): number => runtime.calls.filter(({ method }) => method === 'imageFsInfo').length;
  const disks = await stats.disks({ maxAgeMs: 55_000 });
  await clock.advance(50_000);
  expect([await stats.disks({ maxAgeMs: 55_000 }), asked()]).toEqual([disks, 1]);
  await clock.advance(5000);
  runtime.injectError('imageFsInfo', new Refusal(codes.unknown, 'no'));
  expect([await stats.disks({ maxAgeMs: 55_000 }), asked()]).toEqual([disks, 2]);
});
