import type { FakeClock } from '../../fakes/fake-clock.ts';
import { isFileAtWork } from '../../support/file-operations.ts';

/**
 * Lets time pass as long as a timer waits for it, until the promise is settled. No time passes during a file operation.
 */
export async function whileTimePasses<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([settled, nextTurn()])))
    if (clock.pending > 0 && !isFileAtWork()) await clock.advance(10);
  return promise;
}

function nextTurn(): Promise<false> {
  return new Promise((resolve) => {
    setImmediate(resolve, false);
  });
}
