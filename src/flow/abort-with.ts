/**
 * Aborts the controller with the signal, for the same reason. Returns a function that ends this, for a signal that
 * lasts longer. `AbortSignal.any` has no such end: in Node 20 a signal keeps an entry for each one that was made of it.
 * A signal with more than ten listeners at a time needs `setMaxListeners(0, signal)`, or Node warns.
 */
export function abortWith(controller: AbortController, signal: AbortSignal): () => void {
  const abort = (): void => {
    controller.abort(signal.reason);
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  return () => {
    signal.removeEventListener('abort', abort);
  };
}
