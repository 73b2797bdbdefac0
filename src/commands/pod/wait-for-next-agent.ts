import type { Writable } from 'node:stream';
import { systemClock } from '../../clock.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';

/** Time between two looks, in milliseconds. Polled, because the folder of a group's socket goes with the agent. */
const periodMs = 500;

/**
 * For a command that watches: notes on stderr that the agent has ended, and resolves when the next one knows its pods.
 * Returns false if the signal was aborted first.
 */
export async function waitForNextAgent(
  socket: string,
  { stderr, signal }: { stderr: Writable; signal: AbortSignal },
): Promise<boolean> {
  stderr.write('warning: kubelet-ts has ended; this waits for the next one\n');
  while (!signal.aborted) {
    if ((await fetchSnapshot(socket, { waits: true, settled: true })) !== undefined) {
      stderr.write('kubelet-ts runs again\n');
      return true;
    }
    await systemClock.sleep(periodMs, { signal }).catch(() => undefined);
  }
  return false;
}
