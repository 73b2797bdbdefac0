import { expect, test } from 'vitest';
import { loadedOnce } from '../../../src/server/metrics/agent-metrics.ts';

test('a value is loaded once for all calls, and again after a failure', async () => {
  let calls = 0;
  const get = loadedOnce(() => {
    calls += 1;
    return calls === 1 ? Promise.reject(new Error('too many open files')) : Promise.resolve(calls);
  });
  const failed = await Promise.allSettled([get(), get()]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([await get(), await get(), calls]).toEqual([2, 2, 2]);
});
