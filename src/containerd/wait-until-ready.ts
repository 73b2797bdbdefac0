import type { Clock } from '../clock.ts';
import { isUnimplemented } from '../cri/errors.ts';
import { connectOnce, openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { waitForPath } from './wait-for-path.ts';

/** Milliseconds. The next attempt comes after a tenth of the time that has passed, within these bounds. */
const shortestPollMs = 5;
const longestPollMs = 250;

/**
 * Resolves when the CRI behind a socket answers. The kernel reports the socket, so only the moments between the three
 * steps (bound, listening, CRI plugin up) are polled. Rejects with the signal's reason, after `timeoutMs`, or at once
 * if containerd runs without its CRI plugin, which it loads only when it starts.
 */
export async function waitUntilReady(
  socketPath: string,
  options: { clock: Clock; signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  const { clock, timeoutMs } = options;
  const timeout = new AbortController();
  const cancelTimeout = clock.after(timeoutMs, () => {
    timeout.abort(new Error(`no answer within ${String(timeoutMs / 1000)} s`));
  });
  const signal = AbortSignal.any([options.signal, timeout.signal]);
  const begunAt = clock.monotonic();
  const retry = async (attempt: () => Promise<unknown>): Promise<void> => {
    while (!(await succeeds(attempt))) {
      signal.throwIfAborted();
      const passedMs = clock.monotonic() - begunAt;
      await clock.sleep(Math.min(Math.max(passedMs / 10, shortestPollMs), longestPollMs), { signal });
    }
  };
  try {
    await waitForPath(socketPath, signal);
    // Connects first, because gRPC would wait 100 ms after a refused connection.
    await retry(() => connectOnce(socketPath));
    const channel = openChannel(socketPath);
    try {
      await retry(() => grpcRuntimeService(channel).status({}, { signal }));
    } finally {
      channel.close();
    }
  } finally {
    cancelTimeout();
  }
}

async function succeeds(attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (error) {
    if (isUnimplemented(error)) throw new Error('it runs without its CRI plugin', { cause: error });
    return false;
  }
}
