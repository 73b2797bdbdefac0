import type { Writable } from 'node:stream';
import { podKey, type PodName } from '../../api/values/pod-names.ts';
import type { EngineSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import type { AgentSocket } from '../../server/control/control-client.ts';
import { snapshotsAtEvents } from '../../server/control/snapshots-at-events.ts';
import { visible } from '../../text/visible-text.ts';
import { reportWait } from '../io/report-wait.ts';
import { RuntimeWarning } from './runtime-warning.ts';
import { timeLimit } from '../io/time-limit.ts';

/**
 * Resolves once every container whose restart was requested has a new instance. Calls back once per pod, with true if
 * one of its containers restarted. Rejects if a container cannot start again, and at the time limit. 0 is no limit.
 */
export async function waitForRestart<P extends PodName>(
  pods: readonly P[],
  socket: AgentSocket,
  {
    timeoutMs = 0,
    stderr,
    onRestarted,
  }: { timeoutMs: number | undefined; stderr: Writable; onRestarted: (pod: P, didRestart: boolean) => void },
): Promise<void> {
  const signal = timeoutMs === 0 ? new AbortController().signal : timeLimit(timeoutMs);
  const seen = new Set<P>();
  const warning = new RuntimeWarning(stderr);
  let remaining = pods;
  const stopReports = reportWait(
    stderr,
    () => `waiting for ${remaining.map(({ name }) => name).join(', ')} to restart`,
  );
  try {
    for await (const snapshot of snapshotsAtEvents(socket, signal)) {
      const isLeft = (pod: P): boolean => {
        const listed = restartingPod(snapshot, pod);
        if (listed === undefined) return false;
        seen.add(pod);
        refuseBroken(pod, listed);
        return true;
      };
      const next = remaining.filter(isLeft);
      for (const pod of remaining) if (!next.includes(pod)) onRestarted(pod, seen.has(pod));
      remaining = next;
      if (remaining.length === 0) return;
      warning.update(snapshot);
    }
  } finally {
    stopReports();
  }
  const names = remaining.map(({ name }) => visible(name)).join(', ');
  const what = signal.aborted ? 'timed out' : 'kubelet-ts exited';
  throw new UserError(`${what} before these pods had restarted: ${names}`, {
    hint: 'They keep restarting. Check them: kubelet-ts ps',
  });
}

function restartingPod({ pods }: EngineSnapshot, { namespace, name }: PodName): PodSnapshot | undefined {
  return pods.find(
    ({ pod: { metadata }, restarting }) =>
      restarting !== undefined && metadata.namespace === namespace && metadata.name === name,
  );
}

/** Throws a `UserError` for a container that exited and does not start again for some other reason. */
function refuseBroken(pod: PodName, { pod: { status }, restarting = [] }: PodSnapshot): void {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  for (const { name, state } of statuses) {
    const { reason } = state?.waiting ?? {};
    if (reason === undefined || startingReasons.includes(reason) || !restarting.includes(name)) continue;
    throw new UserError(`container ${visible(name)} of pod ${visible(pod.name)} has not started again: ${reason}`, {
      hint: `kubelet-ts explain ${podKey(pod)}`,
    });
  }
}

const startingReasons: readonly string[] = ['ContainerCreating', 'PodInitializing'];
