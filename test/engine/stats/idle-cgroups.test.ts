import { expect, test } from 'vitest';
import { IdleCgroups } from '../../../src/engine/stats/idle-cgroups.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

test('a cgroup is read again when it has used CPU time, after a minute, and when a sample has left it out', async () => {
  const clock = new FakeClock();
  const idle = new IdleCgroups<number>(clock);
  let reads = 0;
  const sample = (cpuNanos: number | undefined): number => {
    const figures = idle.valuesOf('/a', cpuNanos, () => (reads += 1));
    idle.endSample();
    return figures;
  };
  expect([sample(5), sample(5), sample(6), sample(6)]).toEqual([1, 1, 2, 2]);
  await clock.advance(59_000);
  expect(sample(6)).toBe(2);
  await clock.advance(1000);
  expect(sample(6)).toBe(3);
  idle.endSample();
  expect(sample(6)).toBe(4);
  expect([sample(undefined), sample(undefined)]).toEqual([5, 6]);
});
