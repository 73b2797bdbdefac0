import type { Writable } from 'node:stream';
import { systemClock } from '../../clock.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';

/** Milliseconds between two checks. Polls, because the folder of a group's socket is removed with the agent. */
const periodMs = 500;

/**
 * For a command that watches: reports on stderr that the agent exited, and resolves with true when the next agent knows
 * its pods. Resolves with false if the signal is aborted first.
 */
export async function waitForNextAgent(
  socket: string,
  { stderr, signal }: { stderr: Writable; signal: AbortSignal },
): Promise<boolean> {
  stderr.write('warning: kubelet-ts exited; waiting until it runs again\n');
  while (!signal.aborted) {
    if ((await fetchSnapshot(socket, { waits: true, settled: true })) !== undefined) {
      stderr.write('kubelet-ts is running again\n');
      return true;
    }
    await systemClock.sleep(periodMs, { signal }).catch(() => undefined);
  }
  return false;
}
