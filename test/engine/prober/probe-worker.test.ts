import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { ProbeWorker } from '../../../src/engine/prober/probe-worker.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** Seconds after the start of its container at which a worker probes, of one that starts 600 ms after the worker. */
async function probedAt(probe: { initialDelaySeconds?: number; periodSeconds: number }): Promise<number[]> {
  const clock = new FakeClock();
  const startedAt = clock.now() + 600;
  const times: number[] = [];
  const worker = new ProbeWorker({
    type: 'liveness',
    probe,
    mayRestart: true,
    view: () => {
      const isRunning = clock.now() >= startedAt;
      return {
        phase: isRunning ? 'Running' : 'Pending',
        container: {
          id: 'c1',
          state: isRunning ? 'running' : 'waiting',
          runningSeconds: Math.floor((clock.now() - startedAt) / 1000),
          started: isRunning,
        },
        deleting: false,
      };
    },
    probeContainer: () => {
      times.push((clock.now() - startedAt) / 1000);
      return Promise.resolve('success');
    },
    publish: () => undefined,
    delayMs: 0,
    clock,
  });
  const ended = worker.run();
  onTestFinished(async () => {
    worker.stop();
    await ended;
  });
  for (let passedMs = 0; passedMs < 36_000; passedMs += 100) await clock.advance(100);
  return times;
}

test('a worker probes as soon as the initial delay of its container is over, and every period from then on', async () => {
  expect(await probedAt({ initialDelaySeconds: 20, periodSeconds: 5 })).toEqual([20.4, 25.4, 30.4, 35.4]);
});

test('without an initial delay the periods count from the start of the worker', async () => {
  expect(await probedAt({ periodSeconds: 10 })).toEqual([9.4, 19.4, 29.4]);
});

test('drops the result of a probe whose worker was stopped', async () => {
  const clock = new FakeClock();
  const published: unknown[] = [];
  let answer = (_outcome: 'failure'): void => undefined;
  const worker = new ProbeWorker({
    type: 'liveness',
    probe: { failureThreshold: 1 },
    mayRestart: true,
    view: () => ({
      phase: 'Running',
      container: { id: 'c1', state: 'running', runningSeconds: 1, started: true },
      deleting: false,
    }),
    probeContainer: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
    publish: (_containerID, result) => published.push(result),
    delayMs: 0,
    clock,
  });
  const ended = worker.run();
  await clock.advance(0);
  worker.stop();
  answer('failure');
  await ended;
  expect(published).toEqual(['success', undefined]);
});

/** When a worker begins to probe, in milliseconds, if its probes take these one after the other. */
async function beginnings(periodMs: number, durationsMs: readonly number[]): Promise<number[]> {
  const clock = new FakeClock();
  const times: number[] = [];
  const worker = new ProbeWorker({
    type: 'liveness',
    probe: { periodSeconds: periodMs / 1000 },
    mayRestart: true,
    view: () => ({
      phase: 'Running',
      container: { id: 'c1', state: 'running', runningSeconds: 1, started: true },
      deleting: false,
    }),
    probeContainer: async (_id, signal) => {
      times.push(clock.monotonic());
      await clock.sleep(durationsMs[times.length - 1] ?? 0, { signal });
      return 'success';
    },
    publish: () => undefined,
    delayMs: 0,
    clock,
  });
  const ended = worker.run();
  const longestMs = durationsMs.reduce((sum, ms) => sum + ms, periodMs * (durationsMs.length + 1));
  await clock.advance(longestMs);
  worker.stop();
  await ended;
  return times.slice(0, durationsMs.length);
}

/** A ticker of Go: a tick every period, of which one is kept for whoever comes late. */
function goTicker(periodMs: number, durationsMs: readonly number[]): number[] {
  let keptTick = periodMs;
  let now = 0;
  return durationsMs.map((durationMs, index) => {
    if (index > 0) {
      now = Math.max(now, keptTick);
      keptTick = (Math.floor(now / periodMs) + 1) * periodMs;
    }
    const begunAt = now;
    now += durationMs;
    return begunAt;
  });
}

test('a probe that takes longer than the period is followed by the next one at once', async () => {
  expect(await beginnings(10_000, [15_000, 15_000, 15_000, 1000, 1000])).toEqual([0, 15_000, 30_000, 45_000, 50_000]);
});

test('whatever probes take, they begin as by a ticker of Go', async () => {
  const durations = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), durations, async (periodSeconds, durationsMs) => {
      const periodMs = periodSeconds * 1000;
      expect(await beginnings(periodMs, durationsMs)).toEqual(goTicker(periodMs, durationsMs));
    }),
    propertyRuns(100),
  );
});
