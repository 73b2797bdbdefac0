import type { Pod } from '../../api/types.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { snapshotsAtEvents } from '../../server/control/snapshots-at-events.ts';
import { timeLimit } from '../io/time-limit.ts';
import { visible } from '../../visible-text.ts';

/** True for a pod whose containers are about to end. */
export const isEnding = ({ worker }: PodSnapshot): boolean =>
  worker.state === 'terminating' || worker.state === 'terminated';

/**
 * Resolves once none of these pods is ending any more. Rejects at the time-out, with this hint. A time-out of 0 is no
 * limit.
 */
export async function untilEnded(
  isMeant: (pod: Pod) => boolean,
  socket: string,
  { timeoutMs = 0, hint }: { timeoutMs: number | undefined; hint: string },
): Promise<void> {
  const signal = timeoutMs === 0 ? new AbortController().signal : timeLimit(timeoutMs);
  let ending: PodSnapshot[] = [];
  for await (const { pods } of snapshotsAtEvents(socket, signal)) {
    ending = pods.filter((pod) => isMeant(pod.pod) && isEnding(pod));
    if (ending.length === 0) return;
  }
  const names = ending.map(({ pod }) => visible(pod.metadata.name)).join(', ');
  throw new UserError(`${signal.aborted ? 'timed out' : 'kubelet-ts ended'} before these pods had ended: ${names}`, {
    hint,
  });
}
