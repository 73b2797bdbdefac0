import { expect, onTestFinished, test } from 'vitest';
import type { Reconciliation } from '../../../../src/engine/container-manager/cpu-manager/cpu-manager.ts';
import { CPUReconciler } from '../../../../src/engine/container-manager/cpu-manager/cpu-reconciler.ts';
import type { Logger } from '../../../../src/logger.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';

/** A reconciler that runs, the times of its reconciliations in milliseconds, and its warnings. */
function startReconciler(result: () => Reconciliation = () => ({ success: [], failure: [] }), periodMs = 10_000) {
  const clock = new FakeClock();
  const begin = clock.now();
  const times: number[] = [];
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) };
  const reconciler = new CPUReconciler({
    reconcile: () => {
      times.push(clock.now() - begin);
      return Promise.resolve(result());
    },
    ...{ periodMs, clock, logger },
  });
  const stop = new AbortController();
  const stopped = reconciler.run(stop.signal).catch(() => undefined);
  onTestFinished(() => {
    stop.abort();
    return stopped;
  });
  return { clock, reconciler, times, warnings, stop, stopped };
}

test('reconciles at once and every period', async () => {
  const { clock, times } = startReconciler();
  await clock.advance(20_000);
  expect(times).toEqual([0, 10_000, 20_000]);
});

test('reconciles at most every second with a negative period', async () => {
  const { clock, times } = startReconciler(undefined, -1);
  await clock.advance(2000);
  expect(times).toEqual([0, 1000, 2000]);
});

test('reconciles once, soon after much news, and a period later', async () => {
  const { clock, reconciler, times } = startReconciler();
  await clock.advance(1000);
  for (let news = 0; news < 5; news++) reconciler.scheduleSoon();
  await clock.advance(11_000);
  expect(times).toEqual([0, 1200, 11_200]);
});

test('news while it reconciles are not lost', async () => {
  let news = (): void => undefined;
  const { clock, reconciler, times } = startReconciler(() => {
    news();
    return { success: [], failure: [] };
  });
  await clock.advance(1000);
  news = () => {
    news = () => undefined;
    reconciler.scheduleSoon();
  };
  await clock.advance(10_000);
  expect(times).toEqual([0, 10_000, 10_200]);
});

test('a failure is logged once, and again after the container was moved', async () => {
  const container = { podName: 'web', containerName: 'app', containerID: 'id' };
  const failed = { success: [], failure: [{ ...container, err: 'no' }] };
  const results: Reconciliation[] = [failed, failed, { success: [container], failure: [] }, failed];
  const { clock, warnings } = startReconciler(() => results.shift() ?? failed);
  await clock.advance(40_000);
  const warning = { pod: 'web', containerName: 'app', containerID: 'id', err: 'no' };
  expect(warnings).toEqual([warning, warning]);
});

test('leaves no timer behind when it is stopped', async () => {
  const { clock, stop, stopped } = startReconciler();
  await clock.advance(1000);
  stop.abort();
  await stopped;
  expect(clock.pending).toBe(0);
});
