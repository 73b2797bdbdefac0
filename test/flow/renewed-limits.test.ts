import { expect, test } from 'vitest';
import { TimeoutError } from '../../src/flow/with-timeout.ts';
import { RenewedLimits } from '../../src/flow/renewed-limits.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

test('every limit begins again when one of the works is done', async () => {
  const clock = new FakeClock();
  const limits = new RenewedLimits(clock);
  const never = new Promise(() => undefined);
  const late = Promise.allSettled([limits.within(2000, never), limits.within(3000, never)]);
  const before = limits.endOf(0, 2000);
  await clock.advance(1000);
  limits.renew();
  const after = limits.endOf(0, 2000);
  await clock.advance(1999);
  expect({ before, after, pending: clock.pending }).toEqual({ before: 2000, after: 3000, pending: 2 });
  await clock.advance(1001);
  expect(await late).toEqual(
    ['not done after 3s', 'not done after 4s'].map((text) => ({ status: 'rejected', reason: new TimeoutError(text) })),
  );
});

test('a limit that begins after the last work was done has its whole time', async () => {
  const clock = new FakeClock();
  const limits = new RenewedLimits(clock);
  limits.renew();
  await clock.advance(1000);
  expect(limits.endOf(clock.monotonic(), 2000)).toBe(3000);
  expect(await limits.within(0, Promise.resolve('done'))).toBe('done');
});
