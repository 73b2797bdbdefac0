import type { Clock } from '../../clock.ts';
import type { CallOptions } from '../../cri/service.ts';

/** A call that takes longer is reported. Even on a busy machine hardly any does. */
export const delayMs = 20_000;

/** Nearly every answered call is answered within this time, and then need not be undone. */
const answerTimeMs = 10_000;

/**
 * Runs a call that creates a part of a pod in the runtime. After the abort of `terminating` no such call begins. A call
 * under way is cancelled ten seconds later and rejects with the signal's reason. If the runtime creates the part
 * anyway, it is removed with the pod, or as a remnant of a removed pod. `onDelay` is called if there is no answer after
 * `delayMs`. The kubelet waits for the deadline of the call,
 * kubelet.go SyncPod.
 */
export async function makingCall<T>(
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
