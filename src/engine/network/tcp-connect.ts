import { connect } from 'node:net';
import type { Clock } from '../../clock.ts';
import { addressText, dialErrorText } from './dial-error.ts';

/** Connects, then disconnects. Rejects if that fails or takes too long. kubelet: pkg/probe/tcp/tcp.go */
export async function tcpConnect(
  { host, port }: { host: string; port: number },
  { timeoutMs, clock, signal }: { timeoutMs: number; clock: Clock; signal: AbortSignal },
): Promise<void> {
  const socket = connect({ host, port });
  const fail = (error: Error): void => {
    socket.destroy(error);
  };
  const abort = (): void => {
    fail(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  const cancel = clock.after(timeoutMs, () => {
    fail(new Error(`dial tcp ${addressText(host, port)}: i/o timeout`));
  });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', (error) => {
        reject(signal.aborted ? error : new Error(dialErrorText(error, { host, port }), { cause: error }));
      });
    });
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}
