import type { FakeClock } from '../../fakes/fake-clock.ts';

/** Lets time pass as long as somebody waits for it, until the promise is settled. */
export async function whileTimePasses<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  // Files are read in real time.
  while (!(await Promise.race([settled, nextTurn()]))) if (clock.pending > 0) await clock.advance(10);
  return promise;
}

function nextTurn(): Promise<false> {
  return new Promise((resolve) => {
    setImmediate(resolve, false);
  });
}
