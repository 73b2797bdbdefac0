import { ContainerStartError } from '../container/container-start-error.ts';
import type { SyncResult } from '../container/sync-result.ts';

/** A sync that did not reach the pod's desired state. */
export class SyncPodError extends Error {
  override readonly name: string = 'SyncPodError';
  /** Milliseconds until a retry is useful, if shorter than the usual back-off. */
  readonly retryAfterMs: number | undefined;
  /** True if an event of the pod already reports the failure. */
  readonly isReported: boolean;

  constructor(message: string, options: { retryAfterMs?: number; isReported?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
    this.isReported = options.isReported ?? false;
  }
}

/** The runtime's network is not ready. The sync is retried soon. */
export class NetworkNotReadyError extends SyncPodError {
  override readonly name = 'NetworkNotReadyError';

  constructor(message: string) {
    super(message, { isReported: true });
  }
}

const sandboxActions: readonly SyncResult['action'][] = ['createPodSandbox', 'configPodSandbox'];

/** Throws a `SyncPodError` if a step failed. Containers in back-off determine the time of the next retry. */
export function throwOnFailure(results: readonly SyncResult[], nowMonotonic: number): void {
  const failed = results.filter(({ error }) => error !== undefined);
  const [first] = failed;
  if (first === undefined) return;
  const message = failed.map(
    ({ action, target, reason = '', message: text = '' }) => `${action} ${target}: ${reason}: ${text}`,
  );
  const retries = failed.map(({ error }) =>
    error instanceof ContainerStartError ? error.retryAtMonotonic : undefined,
  );
  const known = retries.filter((retryAtMonotonic) => retryAtMonotonic !== undefined);
  throw new SyncPodError(message.join('; '), {
    cause: first.error,
    // Failed starts and failed sandboxes have an event.
    isReported: failed.every(
      ({ action, error }) => sandboxActions.includes(action) || error instanceof ContainerStartError,
    ),
    // Other failed steps are retried at the same time.
    ...(known.length > 0 ? { retryAfterMs: Math.max(0, Math.min(...known) - nowMonotonic) } : {}),
  });
}
