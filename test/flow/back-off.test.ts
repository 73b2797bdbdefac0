import { expect, test } from 'vitest';
import { BackOff, nextBackOff } from '../../src/flow/back-off.ts';

function makeBackOff() {
  const clock = { ms: 0, monotonic: () => clock.ms };
  return { clock, backOff: new BackOff(clock) };
}

test('the first restart is immediate, later ones wait from the time the container finished', () => {
  const { clock, backOff } = makeBackOff();
  expect(backOff.isInBackOffSince('web', 0)).toBe(false);
  backOff.next('web', 0);

  clock.ms = 9_999;
  expect(backOff.isInBackOffSince('web', 1_000)).toBe(true);
  expect(backOff.backOffUntil('web', 1_000)).toBe(11_000);
  clock.ms = 11_000;
  expect(backOff.isInBackOffSince('web', 1_000)).toBe(false);
});

test('image pulls wait from the last failure', () => {
  const { clock, backOff } = makeBackOff();
  clock.ms = 5_000;
  backOff.next('image', 5_000);
  expect(backOff.isInBackOffSinceUpdate('image', 14_999)).toBe(true);
  expect(backOff.backOffUntilSinceUpdate('image')).toBe(15_000);
  expect(backOff.isInBackOffSinceUpdate('image', 15_000)).toBe(false);
});

test('a container that ran for more than ten minutes starts over', () => {
  const entry = { backOffMs: 300_000, updatedAtMonotonic: 0 };
  expect(nextBackOff(entry, 600_000, 600_500)).toEqual({ backOffMs: 300_000, updatedAtMonotonic: 600_500 });
  expect(nextBackOff(entry, 600_001, 600_500)).toEqual({ backOffMs: 10_000, updatedAtMonotonic: 600_500 });
});

test('the wait doubles from 10 s up to 5 min', () => {
  const { backOff } = makeBackOff();
  const waits = Array.from({ length: 7 }, () => {
    backOff.next('web', 0);
    return backOff.get('web') / 1000;
  });
  expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

test('keys do not know of each other', () => {
  const { backOff } = makeBackOff();
  backOff.next('web', 0);
  expect([backOff.get('web'), backOff.get('log')]).toEqual([10_000, 0]);
});
