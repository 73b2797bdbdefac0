import type { Writable } from 'node:stream';
import type { Pod } from '../../api/types.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import type { AgentSocket } from '../../server/control/control-client.ts';
import { snapshotsAtEvents } from '../../server/control/snapshots-at-events.ts';
import { reportWait } from '../io/report-wait.ts';
import { RuntimeWarning } from './runtime-warning.ts';
import { timeLimit } from '../io/time-limit.ts';
import { visible } from '../../text/visible-text.ts';

/** True for a pod whose containers are stopping. */
export const isStopping = ({ worker }: PodSnapshot): boolean =>
  worker.state === 'terminating' || worker.state === 'terminated';

export interface StoppingPod {
  /** Its name in messages. */
  name: string;
  isPod: (pod: Pod) => boolean;
}

/**
 * Resolves once none of these pods is stopping any more. Calls `onEnded` once per pod. Rejects at the time-out, with
 * this hint and the names of the other pods; 0 is no limit. Prints on `stderr` what a longer wait is for, and if the
 * runtime delays it.
 */
export async function waitForExit<P extends StoppingPod>(
  pods: readonly P[],
  socket: AgentSocket,
  {
    timeoutMs = 0,
    hint,
    stderr,
    onEnded = () => undefined,
  }: { timeoutMs: number | undefined; hint: string; stderr: Writable; onEnded?: (pod: P) => void },
): Promise<void> {
  const signal = timeoutMs === 0 ? new AbortController().signal : timeLimit(timeoutMs);
  const warning = new RuntimeWarning(stderr);
  let remaining = pods;
  const stopReports = reportWait(stderr, () => `waiting for ${remaining.map(({ name }) => name).join(', ')} to stop`);
  try {
    for await (const snapshot of snapshotsAtEvents(socket, signal)) {
      const ending = snapshot.pods.filter(isStopping);
      const isLeft = ({ isPod }: P): boolean => ending.some(({ pod }) => isPod(pod));
      for (const pod of remaining) if (!isLeft(pod)) onEnded(pod);
      remaining = remaining.filter(isLeft);
      if (remaining.length === 0) return;
      warning.update(snapshot);
    }
  } finally {
    stopReports();
  }
  const names = remaining.map(({ name }) => visible(name)).join(', ');
  throw new UserError(`${signal.aborted ? 'timed out' : 'kubelet-ts exited'} before these pods had stopped: ${names}`, {
    hint,
  });
}
