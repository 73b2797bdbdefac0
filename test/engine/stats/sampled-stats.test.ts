import { beforeEach, expect, test } from 'vitest';
import { SampledStats } from '../../../src/engine/stats/sampled-stats.ts';
import type { Summary } from '../../../src/engine/stats/summary.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

let clock: FakeClock;
let stats: SampledStats;
/** Samples so far, as `full` or `small`. Each takes a second. */
let samples: string[];
/** For each sample, whether it read everything anew. */
let anew: (boolean | undefined)[];
let failure: Error | undefined;

beforeEach(() => {
  clock = new FakeClock();
  [samples, anew] = [[], []];
  failure = undefined;
  stats = new SampledStats({
    clock,
    sampler: {
      sample: async (options) => {
        const name = `${options?.cpuAndMemoryOnly === true ? 'small' : 'full'} ${samples.length + 1}`;
        samples.push(name);
        anew.push(options?.anew);
        await clock.sleep(1000);
        if (failure !== undefined) throw failure;
        return summaryOf(name);
      },
      cgroups: () => Promise.resolve([]),
      diskUsage: () => Promise.resolve({ logs: [], claims: [] }),
      sampleNode: () => Promise.resolve(summaryOf('node')),
    },
  });
});

const summaryOf = (nodeName: string): Summary => ({ node: { nodeName, startTime: '' }, pods: [] });

/** The names of the samples that these requests got, all made now. */
async function ask(...requests: Parameters<SampledStats['summary']>[0][]): Promise<string[]> {
  const asked = requests.map((request) => stats.summary(request));
  await clock.advance(5000);
  return (await Promise.all(asked)).map(({ node }) => node.nodeName);
}

const small = { cpuAndMemoryOnly: true };

test('a sample serves all that ask while it is young enough', async () => {
  expect(await ask({ maxAgeMs: 10_000 }, { maxAgeMs: 10_000, ...small })).toEqual(['full 1', 'full 1']);
  expect(await ask({ maxAgeMs: 10_000 }, { maxAgeMs: 10_000, ...small })).toEqual(['full 1', 'full 1']);
  expect(await ask({ maxAgeMs: 9000 })).toEqual(['full 2']);
});

test('0 asks for a sample that begins now: after the one under way, and once for several', async () => {
  const first = stats.summary({ maxAgeMs: 10_000 });
  await clock.advance(500);
  expect(await ask({ maxAgeMs: 0 }, { maxAgeMs: 0 }, { maxAgeMs: 501 })).toEqual(['full 2', 'full 2', 'full 1']);
  expect((await first).node.nodeName).toBe('full 1');
});

test('0 also asks for a sample that reads everything anew, for others that wait for it too', async () => {
  await ask({ maxAgeMs: 1000 }, { maxAgeMs: 500 }, { maxAgeMs: 0 });
  await ask({ maxAgeMs: 1000 });
  await ask({ maxAgeMs: 0 });
  expect(anew).toEqual([false, true, false, true]);
});

test('a small sample does not serve the one that needs all, but all serves both', async () => {
  expect(await ask({ maxAgeMs: 10_000, ...small }, { maxAgeMs: 10_000 })).toEqual(['small 1', 'full 2']);
  expect(await ask({ maxAgeMs: 10_000, ...small })).toEqual(['full 2']);
  expect(await ask({ maxAgeMs: 0, ...small })).toEqual(['small 3']);
  expect(await ask({ maxAgeMs: 60_000 }, { maxAgeMs: 60_000, ...small })).toEqual(['full 2', 'small 3']);
});

test('a sample that waits becomes large when one asks for all', async () => {
  const requests = [{ maxAgeMs: 0, ...small }, { maxAgeMs: 0, ...small }, { maxAgeMs: 0 }];
  expect(await ask(...requests)).toEqual(['small 1', 'full 2', 'full 2']);
});

test('a request that is given up does not end the sample of others', async () => {
  const leaving = new AbortController();
  const left = stats.summary({ maxAgeMs: 0, signal: leaving.signal });
  const stayed = stats.summary({ maxAgeMs: 1000 });
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await clock.advance(1000);
  expect((await stayed).node.nodeName).toBe('full 1');
});

test('a failed sample fails those that wait for it, and the next one is taken', async () => {
  failure = new Error('broken');
  const asked = [stats.summary({ maxAgeMs: 0 }), stats.summary({ maxAgeMs: 0 })].map((summary) =>
    summary.catch((error: unknown) => error),
  );
  await clock.advance(1000);
  failure = undefined;
  await clock.advance(1000);
  expect(await Promise.all(asked)).toEqual([new Error('broken'), summaryOf('full 2')]);
});

test('the node alone is measured next to all other samples', async () => {
  const full = stats.summary({ maxAgeMs: 0 });
  expect(await stats.nodeSummary(new AbortController().signal)).toEqual(summaryOf('node'));
  await clock.advance(1000);
  expect(await full).toEqual(summaryOf('full 1'));
  await expect(stats.nodeSummary(AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
});
