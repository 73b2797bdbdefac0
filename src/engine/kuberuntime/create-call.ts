import type { Clock } from '../../clock.ts';
import type { CallOptions } from '../../cri/service.ts';

/** Calls that take longer are reported. Even on a busy machine this is rare. */
export const delayMs = 20_000;

/** Nearly all calls are answered within this time, and then need not be undone. */
const answerTimeMs = 10_000;

/**
 * Runs a call that creates a sandbox or container in the runtime. Once `terminating` is aborted, no new call begins. A
 * running call is cancelled ten seconds later and rejects with the signal's reason. If the runtime creates the object
 * anyway, it is removed with the pod, or by garbage collection after the pod is removed. Calls `onDelay` if there is no
 * answer after `delayMs`. The kubelet waits for the deadline of the call, kubelet.go SyncPod.
 */
export async function createCall<T>(
  clock: Clock,
  terminating: AbortSignal,
  call: (options: CallOptions) => Promise<T>,
  onDelay?: () => void,
): Promise<T> {
  terminating.throwIfAborted();
  const cancelled = new AbortController();
  let forgetCancel = (): void => undefined;
  const cancelLater = (): void => {
    forgetCancel = clock.after(answerTimeMs, () => {
      cancelled.abort(terminating.reason);
    });
  };
  terminating.addEventListener('abort', cancelLater, { once: true });
  const forgetDelay = onDelay && clock.after(delayMs, onDelay);
  try {
    return await call({ signal: cancelled.signal });
  } finally {
    terminating.removeEventListener('abort', cancelLater);
    forgetCancel();
    forgetDelay?.();
  }
}
