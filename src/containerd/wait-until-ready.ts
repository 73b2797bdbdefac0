import type { Clock } from '../clock.ts';
import { connectOnce, openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { waitForPath } from './wait-for-path.ts';

const pollMs = 5;

/**
 * Resolves when the CRI behind a socket answers. The kernel reports the socket; only the moments between its three
 * steps (bound, listening, CRI plugin up) are polled. Rejects with the signal's reason, or after `timeoutMs`.
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
  const retry = async (attempt: () => Promise<unknown>): Promise<void> => {
    while (!(await succeeds(attempt))) {
      signal.throwIfAborted();
      await clock.sleep(pollMs, { signal });
    }
  };
  try {
    await waitForPath(socketPath, signal);
    // Connects first, because gRPC would wait 100 ms after a refusal.
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

function succeeds(attempt: () => Promise<unknown>): Promise<boolean> {
  return attempt().then(
    () => true,
    () => false,
  );
}
