import type { Writable } from 'node:stream';
import { podKey, type PodName, type PodRef } from '../../api/values/pod-names.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { EngineSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import type { AgentSocket } from '../../server/control/control-client.ts';
import { snapshotsAtEvents } from '../../server/control/snapshots-at-events.ts';
import { visible } from '../../text/visible-text.ts';
import { reportWait } from '../io/report-wait.ts';
import { isStopping } from './wait-for-exit.ts';
import { RuntimeWarning } from './runtime-warning.ts';
import { timeLimit } from '../io/time-limit.ts';

/**
 * Resolves once every container whose restart was requested has a new instance, and every pod that changes to another
 * revision has started. Calls back once per pod, with true if one of its containers restarted. Rejects if a container
 * cannot start, and at the time limit. 0 is no limit. The pods have the UIDs from before the request.
 */
export async function waitForRestart<P extends PodRef>(
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
  const inPlace = new Set<P>();
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
        if (listed !== undefined) inPlace.add(pod);
        // A pod that restarts in place may have an update that waits for something else.
        if (listed === undefined && (inPlace.has(pod) || !isChanging(snapshot, pod))) return false;
        seen.add(pod);
        if (listed !== undefined) refuseBroken(pod, listed);
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

/**
 * True if the pod changes to another revision, or has not started since. Throws a `UserError` if one of its containers
 * cannot start.
 */
function isChanging({ pods }: EngineSnapshot, pod: PodRef): boolean {
  const revisions = pods.filter(({ pod: { metadata } }) => podKey(metadata) === podKey(pod));
  const [newest] = revisions.filter(({ replacedBy }) => replacedBy === undefined);
  if (newest === undefined) return revisions.length > 0;
  const { uid } = newest.pod.metadata;
  if (revisions.length > 1 || isStopping(newest) || newest.outdatedContainers !== undefined) return true;
  if (uid === pod.uid) return isHeldBack(pod, newest);
  const { containerStatuses = [], initContainerStatuses = [], phase } = newest.pod.status ?? {};
  const names = [...initContainerStatuses, ...containerStatuses].map(({ name }) => name);
  refuseBroken(pod, { ...newest, restarting: names });
  return phase === undefined || phase === 'Pending';
}

/** True while the new revision of a pod waits for its turn or its images. Throws a `UserError` if a pull failed. */
function isHeldBack(pod: PodName, { waitingUpdate }: PodSnapshot): boolean {
  const { reason, message } = waitingUpdate ?? {};
  if (reason === reasons.errImagePull)
    throw new UserError(visible(`pod ${pod.name} keeps its earlier revision: ${reason}: ${message ?? ''}`), {
      hint: `kubelet-ts explain ${podKey(pod)}`,
    });
  return reason === 'OnDelete' || reason === reasons.pulling;
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
