import { expect, test } from 'vitest';
import { withTimeout, TimeoutError } from '../../src/flow/with-timeout.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

test('work that is done is not late, even without any time', async () => {
  expect(await withTimeout(new FakeClock(), 0, Promise.resolve('done'))).toBe('done');
});

test('work that is not done after its time is late, and leaves no timer', async () => {
  const clock = new FakeClock();
  const late = expect(withTimeout(clock, 1500, new Promise(() => undefined))).rejects.toEqual(
    new TimeoutError('not done after 1.5s'),
  );
  await clock.advance(1500);
  await late;
  expect(clock.pending).toBe(0);
});

test('the time begins again when it is renewed', async () => {
  const clock = new FakeClock();
  let renewedAt = -Infinity;
  const late = withTimeout(clock, 2000, new Promise(() => undefined), () => renewedAt);
  const failed = expect(late).rejects.toEqual(new TimeoutError('not done after 3s'));
  await clock.advance(1000);
  renewedAt = clock.monotonic();
  await clock.advance(1999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  await failed;
});
