import { setMaxListeners } from 'node:events';
import type { Clock } from '../../clock.ts';
import { abortWith } from '../../flow/abort-with.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import { toOriginFailure } from './explain-failure.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';

/** How long a server may stay silent, and a whole request may take, in milliseconds. */
export interface RequestTimes {
  stallMs: number;
  totalMs: number;
}

/** Time limits of one check of a URL, including redirects and the signature. */
export interface RequestLimits {
  /** Aborted with an OriginFailure when a limit is reached, or with the outer signal. */
  signal: AbortSignal;
  /** Call this whenever the server has sent something. */
  progress: () => void;
  /** Call this after the check. */
  end: () => void;
}

/**
 * The whole check is limited too, because a slow server may never be silent. kubelet: config/http.go NewSourceURL
 * applies the first limit to the whole request
 */
const checkTimes: RequestTimes = { stallMs: 10_000, totalMs: 60_000 };

/** Starts the time limits of a check. */
export function limitRequests(
  clock: Clock,
  outer: AbortSignal,
  { stallMs, totalMs }: RequestTimes = checkTimes,
): RequestLimits {
  const over = new AbortController();
  const release = abortWith(over, outer);
  const { signal } = over;
  // Each redirect adds listeners, and more than ten would cause a warning.
  setMaxListeners(0, signal);
  const giveUpAfter = (ms: number, message: string): (() => void) =>
    clock.after(ms, () => {
      const hint = 'Check the load of the server and the network. The request is repeated automatically.';
      over.abort(new OriginFailure('no answer', `${message} ${ms / 1000} s`, hint));
    });
  const cancelTotal = giveUpAfter(totalMs, 'the answer was not complete after');
  let cancelStall = giveUpAfter(stallMs, 'the server sent nothing for');
  return {
    signal,
    progress: () => {
      cancelStall();
      cancelStall = giveUpAfter(stallMs, 'the server sent nothing for');
    },
    end: () => {
      cancelTotal();
      cancelStall();
      release();
    },
  };
}

/**
 * Lets `use` send requests within the limits of one check. Rejects with an OriginFailure, or with the outer signal's
 * reason.
 */
export async function withinLimits<T>(
  clock: Clock,
  outer: AbortSignal,
  use: (limits: RequestLimits) => Promise<T>,
  times?: RequestTimes,
): Promise<T> {
  const limits = limitRequests(clock, outer, times);
  try {
    return await unlessAborted(use(limits), limits.signal);
  } catch (error) {
    outer.throwIfAborted();
    throw toOriginFailure(error);
  } finally {
    limits.end();
  }
}
