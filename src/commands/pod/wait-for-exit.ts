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
export const isEnding = ({ worker }: PodSnapshot): boolean =>
  worker.state === 'terminating' || worker.state === 'terminated';

export interface StoppingPod {
  /** Its name in messages. */
  name: string;
  isPod: (pod: Pod) => boolean;
}

/**
 * Resolves once none of these pods is ending any more. Reports each with `onEnded`. Rejects at the time-out, with this
 * hint, and with the names of the others. A time-out of 0 is no limit. Prints on `stderr` what a longer wait is for,
 * and if the runtime delays it.
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
  let left = pods;
  const endReports = reportWait(stderr, () => `waiting for ${left.map(({ name }) => name).join(', ')} to stop`);
  try {
    for await (const snapshot of snapshotsAtEvents(socket, signal)) {
      const ending = snapshot.pods.filter(isEnding);
      const isLeft = ({ isPod }: P): boolean => ending.some(({ pod }) => isPod(pod));
      for (const pod of left) if (!isLeft(pod)) onEnded(pod);
      left = left.filter(isLeft);
      if (left.length === 0) return;
      warning.update(snapshot);
    }
  } finally {
    endReports();
  }
  const names = left.map(({ name }) => visible(name)).join(', ');
  throw new UserError(`${signal.aborted ? 'timed out' : 'kubelet-ts ended'} before these pods had ended: ${names}`, {
    hint,
  });
}
