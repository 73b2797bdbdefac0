import { describe, expect, test } from 'vitest';
import {
  afterPost,
  nextPostDelayMs,
  type PostOutcome,
  type PostState,
  startState,
  type UnsentChanges,
} from '../../../src/node/status-urls/next-post.ts';

const minute = 60_000;
const never = { acceptedSequence: 0, acceptedAt: undefined };
const nothing: UnsentChanges = { changedAtMonotonic: undefined, hasEvents: false };
const refused: PostOutcome = { failed: { message: 'the server answered 500', hint: 'Look.' }, retryAfterMs: undefined };

const times = (nowMonotonic: number, random = 0) => ({ now: 1_000_000 + nowMonotonic, nowMonotonic, random });
const accepted = (nowMonotonic: number, random = 0): PostState =>
  afterPost(startState(never, times(0)), { acceptedSequence: 7 }, times(nowMonotonic, random));

test('the first post is within five seconds of the start, at another time on each box', () => {
  const delays = [0, 0.5, 0.99].map((random) => nextPostDelayMs(startState(never, times(0, random)), nothing, 0));
  expect(delays).toEqual([0, 2500, 4950]);
});

test.each<[string, UnsentChanges, number]>([
  ['nothing changes, after less than five minutes', nothing, 270_000],
  ['something changed long after the last post, a second later', { ...nothing, changedAtMonotonic: 100_000 }, 101_000],
  ['something changed soon after it, ten seconds after it', { ...nothing, changedAtMonotonic: 2000 }, 10_000],
  ['more events wait, ten seconds after it', { ...nothing, hasEvents: true }, 10_000],
  ['something changed just before the next one, at its time', { ...nothing, changedAtMonotonic: 269_900 }, 270_000],
])('if %s', (_, changes, delay) => {
  expect(nextPostDelayMs(accepted(0), changes, 0)).toBe(delay);
});

test('a post that is overdue, as after a suspend, is due now', () => {
  expect(nextPostDelayMs(accepted(0), nothing, 3_600_000)).toBe(0);
});

describe('after failures', () => {
  const failing = (count: number, random: number): PostState => {
    let state = accepted(0);
    for (let failure = 0; failure < count; failure++) state = afterPost(state, refused, times(0, random));
    return state;
  };

  test.each([
    [1, 5000, 10_000],
    [2, 10_000, 20_000],
    [5, 80_000, 160_000],
    [6, 2.5 * minute, 5 * minute],
    [2000, 2.5 * minute, 5 * minute],
  ])('%i of them, the next try is between %i and %i ms away', (count, least, most) => {
    expect([failing(count, 0), failing(count, 1)].map(({ waitMs }) => waitMs)).toEqual([least, most]);
  });

  test('changes do not hasten the next try', () => {
    expect(nextPostDelayMs(failing(6, 1), { changedAtMonotonic: 0, hasEvents: true }, 1000)).toBe(299_000);
  });

  test.each([
    [0, 10_000],
    [90_000, 90_000],
    [10 * 86_400_000, 3_600_000],
  ])('a server that asks for %i ms gets %i', (retryAfterMs, waitMs) => {
    expect(afterPost(accepted(0), { ...refused, retryAfterMs }, times(0)).waitMs).toBe(waitMs);
  });

  test('the newest failure and the time of the first are known until a success', () => {
    const first = afterPost(accepted(5), refused, times(10));
    const other = { failed: { message: 'no answer', hint: 'Wait.' }, retryAfterMs: undefined };
    const second = afterPost(first, other, times(20));
    expect(second).toMatchObject({
      acceptedSequence: 7,
      acceptedAt: 1_000_005,
      failure: { since: 1_000_010, message: 'no answer', hint: 'Wait.' },
    });
    expect(afterPost(second, { acceptedSequence: 9 }, times(30))).toEqual({
      acceptedSequence: 9,
      acceptedAt: 1_000_030,
      triedAtMonotonic: 30,
      waitMs: 270_000,
      failures: 0,
      failure: undefined,
    });
  });
});
