/** A sync that did not bring the pod where it should be. */
export class SyncPodError extends Error {
  override readonly name: string = 'SyncPodError';
  /** When it makes sense to try again, sooner than the usual back-off. Milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** True if an event of the pod has the failure already. */
  readonly isReported: boolean;

  constructor(message: string, options: { retryAfterMs?: number; isReported?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
    this.isReported = options.isReported ?? false;
  }
}

/** The network of the runtime is not ready; the pod is tried again soon. */
export class NetworkNotReadyError extends SyncPodError {
  override readonly name = 'NetworkNotReadyError';

  constructor(message: string) {
    super(message, { isReported: true });
  }
}
