import type { Clock } from '../../clock.ts';
import type { CallOptions } from '../../cri/service.ts';

/** A call that is answered at all is nearly always answered in this time, and then nothing has to be undone. */
const answerTimeMs = 10_000;

/**
 * Makes a call that makes something of a pod in the runtime. Once the pod has to terminate, as `terminating` tells, no such
 * call is begun; one under way has ten seconds to be answered, then it is cancelled and rejects with the signal's reason.
 * What the runtime makes of it nevertheless goes with the kill of the pod, or as a remnant of a removed pod. The kubelet
 * waits for the deadline of the call, kubelet.go SyncPod.
 */
export async function makingCall<T>(
  clock: Clock,
  terminating: AbortSignal,
  call: (options: CallOptions) => Promise<T>,
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
  try {
    return await call({ signal: cancelled.signal });
  } finally {
    terminating.removeEventListener('abort', cancelLater);
    forgetCancel();
  }
}
