import { expect, test } from 'vitest';
import type { OriginFailureKind } from '../../../../src/engine/config/polled/origin-failure.ts';
import { CheckSchedule } from '../../../../src/engine/config/polled/next-check-delay.ts';

const boxes = 10_000;
const intervalMs = 20_000;
const endMs = 480_000;
const meanPerSecond = boxes / (intervalMs / 1000);

/** Spread over [0, 1) without any order, the same in every run. */
function fractionOf(box: number, use: number): number {
  let mixed = Math.imul(box + 1, 0x9e3779b1) ^ Math.imul(use + 1, 0x85ebca77);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
}

interface Fleet {
  /** All boxes start within this time. */
  startsWithinMs: number;
  /** The outcome of a request at this time. */
  server: (atMs: number) => OriginFailureKind | undefined;
}

/** Requests of all boxes in each second. A box depends on the server alone, so one after the other is right. */
function requestsPerSecond({ startsWithinMs, server }: Fleet): number[] {
  const counts = new Array<number>(endMs / 1000).fill(0);
  for (let box = 0; box < boxes; box++) {
    let draws = 1;
    const random = (): number => fractionOf(box, ++draws);
    const schedule = new CheckSchedule({ intervalMs, phase: fractionOf(box, 0) }, random);
    let now = fractionOf(box, 1) * startsWithinMs;
    while (now < endMs) {
      const second = Math.floor(now / 1000);
      counts[second] = (counts[second] ?? 0) + 1;
      now += schedule.next({ failure: server(now) }, now);
    }
  }
  return counts;
}

/** The busiest second from one time to another, by the mean. */
const peak = (counts: readonly number[], fromSecond: number, toSecond = endMs / 1000): number =>
  Math.max(...counts.slice(fromSecond, toSecond)) / meanPerSecond;

const always = (): undefined => undefined;
const outage =
  (kind: OriginFailureKind, seconds: number) =>
  (atMs: number): OriginFailureKind | undefined =>
    atMs >= 200_000 && atMs < 200_000 + seconds * 1000 ? kind : undefined;

test('ten thousand boxes that start in one second are spread after their first request', () => {
  const counts = requestsPerSecond({ startsWithinMs: 1000, server: always });
  expect(counts[0]).toBe(boxes);
  expect(peak(counts, 1)).toBeLessThan(1.25);
  expect(Math.min(...counts.slice(30)) / meanPerSecond).toBeGreaterThan(0.75);
});

test.each<[kind: OriginFailureKind, seconds: number]>([
  ['no answer', 1],
  ['no answer', 10],
  ['no answer', 120],
  ['refused', 10],
  ['refused', 120],
])('a server that is away (%s) for %i s gets no more requests than before, then and later', (kind, seconds) => {
  const counts = requestsPerSecond({ startsWithinMs: 60_000, server: outage(kind, seconds) });
  expect(peak(counts, 61, 200)).toBeLessThan(1.25);
  expect(peak(counts, 200)).toBeLessThan(1.25);
});
