/**
 * Why a container did not start, with the reason that its waiting state shows. kubelet: container/sync_result.go
 */
export class ContainerStartError extends Error {
  override readonly name = 'ContainerStartError';
  readonly reason: string;
  /** Set while a back-off holds the start up, and nothing was tried: when it is over, in monotonic milliseconds. */
  readonly retryAt: number | undefined;

  constructor(reason: string, message: string, options: { retryAt?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.retryAt = options.retryAt;
  }
}
