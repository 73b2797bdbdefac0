/**
 * Why a container did not start, with the reason that its waiting state shows. kubelet: container/sync_result.go
 */
export class ContainerStartError extends Error {
  override readonly name = 'ContainerStartError';
  readonly reason: string;
  /** End of the back-off that delays the start, in monotonic milliseconds. Undefined if the start was attempted. */
  readonly retryAtMonotonic: number | undefined;

  constructor(reason: string, message: string, options: { retryAtMonotonic?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.retryAtMonotonic = options.retryAtMonotonic;
  }
}
