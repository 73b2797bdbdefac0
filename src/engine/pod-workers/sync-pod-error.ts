/** A sync that did not bring the pod where it should be. */
export class SyncPodError extends Error {
  override readonly name: string = 'SyncPodError';
  /** When it makes sense to try again, sooner than the usual back-off. Milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The network of the runtime is not ready; the pod is tried again soon. */
export class NetworkNotReadyError extends SyncPodError {
  override readonly name = 'NetworkNotReadyError';
}
