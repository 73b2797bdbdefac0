import type { Clock } from '../../src/clock.ts';
import type { FakeClock } from './fake-clock.ts';

/**
 * Never returns the same monotonic time twice, like a real clock. Code that asks for something newer relies on that.
 */
export function tickingClock(clock: FakeClock): Clock {
  let readings = 0;
  return {
    now: () => clock.now(),
    monotonic: () => {
      readings += 1;
      return clock.monotonic() + readings * 1e-6;
    },
    sleep: (ms, options) => clock.sleep(ms, options),
    after: (ms, fn) => clock.after(ms, fn),
  };
}
