/**
 * Aborts the controller when the signal is aborted, with the same reason. Returns a function that unlinks them, for a
 * signal that lives longer. `AbortSignal.any` cannot be unlinked: in Node 20 a signal keeps an entry for each signal
 * derived from it. If more than ten are linked to a signal at a time, call `setMaxListeners(0, signal)`, or Node warns.
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
