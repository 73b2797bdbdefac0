import { expect, test } from 'vitest';
import { TokenBucket } from '../../src/flow/token-bucket.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

const clock = new FakeClock();
const taken = (bucket: TokenBucket, tries: number): number =>
  Array.from({ length: tries }, () => bucket.tryAcquire()).filter(Boolean).length;

test('as much as the burst at once, then so much a second, and never more than the burst', async () => {
  const bucket = new TokenBucket({ perSecond: 5, burst: 10, clock });
  expect(taken(bucket, 20)).toBe(10);
  await clock.advance(199);
  expect(taken(bucket, 1)).toBe(0);
  await clock.advance(1);
  expect(taken(bucket, 2)).toBe(1);
  await clock.advance(3_600_000);
  expect(taken(bucket, 20)).toBe(10);
});

test('no limit at 0 a second', () => {
  expect(taken(new TokenBucket({ perSecond: 0, burst: 0, clock }), 1000)).toBe(1000);
});

test('nothing without a burst', async () => {
  const bucket = new TokenBucket({ perSecond: 5, burst: 0, clock });
  await clock.advance(3_600_000);
  expect(taken(bucket, 1)).toBe(0);
});
