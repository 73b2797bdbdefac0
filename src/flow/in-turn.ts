import type { LimitFunction } from 'p-limit';
import { unlessAborted } from './unless-aborted.ts';

/**
 * Returns the result of `work`, which runs in its turn. If the signal is aborted before, rejects at once with its
 * reason, and the limit keeps nothing of the work. If it is aborted later, rejects once the work has ended.
 */
export async function inTurn<T>(limit: LimitFunction, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  let waiting: typeof work | undefined = work;
  let running: Promise<T> | undefined;
  const turn = limit(() => {
    running = waiting === undefined ? Promise.reject(signal.reason as Error) : waiting();
    return running;
  });
  try {
    return await unlessAborted(turn, signal);
  } catch (error) {
    waiting = undefined;
    await running;
    throw error;
  }
}
