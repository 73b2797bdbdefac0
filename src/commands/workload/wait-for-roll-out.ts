import type { WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { workloadKey } from '../../api/values/workload.ts';
import type { AgentSocket } from '../../server/control/control-client.ts';
import { snapshotsAtEvents } from '../../server/control/snapshots-at-events.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { timeLimit } from '../io/time-limit.ts';

/**
 * Prints the progress of a rollout until all pods are updated and available, in the words of kubectl. Rejects with a
 * `UserError` if its deadline passed, or at the time-out. Without `isWaiting`, prints the current state only.
 */
export async function waitForRollOut(
  workload: WorkloadSnapshot,
  socket: AgentSocket,
  { stdout }: CommandDeps,
  { isWaiting, timeoutMs = 0 }: { isWaiting: boolean; timeoutMs: number | undefined },
): Promise<void> {
  const key = workloadKey(workload);
  const [kind, name] = [workload.kind.toLowerCase(), visible(workload.name)];
  const shown = `${kind} "${name}"`;
  const signal = timeoutMs === 0 ? new AbortController().signal : timeLimit(timeoutMs);
  let printed = '';
  for await (const { workloads = [] } of snapshotsAtEvents(socket, signal)) {
    const now = workloads.find((one) => workloadKey(one) === key);
    if (now === undefined) throw new UserError(`${shown} is no longer declared`);
    if (hasReason(now, 'OnDelete')) {
      const hint = `Update all now: kubelet-ts restart ${kind}/${name}`;
      throw new UserError(`${shown} updates a pod only when it is restarted`, { hint });
    }
    if (hasReason(now, 'ProgressDeadlineExceeded')) {
      const hint = `Find out why: kubelet-ts explain ${kind}/${name}`;
      throw new UserError(`${shown} exceeded its progress deadline`, { hint });
    }
    const text = `${progressText(now, shown)}\n`;
    if (text !== printed) stdout.write(text);
    printed = text;
    if (isRolledOut(now) || !isWaiting) return;
  }
  throw new UserError(`${signal.aborted ? 'timed out' : 'kubelet-ts exited'} before ${shown} was rolled out`);
}

/** True if all pods are updated and available. With a partition, fewer than all are updated. */
export const isRolledOut = (workload: WorkloadSnapshot): boolean => {
  const { desired, current, updated, available } = workload;
  const areUpdated = updated === desired || hasReason(workload, 'NewReplicaSetAvailable');
  return current === desired && areUpdated && available === desired;
};

const hasReason = ({ conditions }: WorkloadSnapshot, meant: string): boolean =>
  conditions.some(({ reason }) => reason === meant);

/** kubectl: pkg/polymorphichelpers/rollout_status.go */
function progressText(workload: WorkloadSnapshot, shown: string): string {
  const { desired, current, updated, available } = workload;
  if (isRolledOut(workload)) {
    return updated < desired
      ? `partitioned roll out complete: ${updated} new pods have been updated...`
      : `${shown} successfully rolled out`;
  }
  const waiting = `Waiting for ${shown} rollout to finish: `;
  if (updated < desired) return `${waiting}${updated} out of ${desired} new replicas have been updated...`;
  if (current > desired) return `${waiting}${current - desired} old replicas are pending termination...`;
  return `${waiting}${available} of ${desired} updated replicas are available...`;
}
