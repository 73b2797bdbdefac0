/** A sync that did not reach the pod's desired state. */
export class SyncPodError extends Error {
  override readonly name: string = 'SyncPodError';
  /** Delay until a retry is useful, if shorter than the usual back-off. Milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** True if an event of the pod already reports the failure. */
  readonly isReported: boolean;

  constructor(message: string, options: { retryAfterMs?: number; isReported?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
    this.isReported = options.isReported ?? false;
  }
}

/** The runtime's network is not ready. The pod is tried again soon. */
export class NetworkNotReadyError extends SyncPodError {
  override readonly name = 'NetworkNotReadyError';

  constructor(message: string) {
    super(message, { isReported: true });
  }
}
