import type { Pod, PodStatus } from '../../api/types.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import { declaredOrdinals } from '../../api/values/replica-pod.ts';
import { parseRfc3339Ms } from '../../api/values/time.ts';
import type { ReplicatedWorkload } from '../../api/values/workload.ts';
import { revisionOf } from '../in-place/identify-pod.ts';
import type { AcceptedRevision } from '../operations/pod-revisions.ts';
import type { Rejection } from '../view/snapshot.ts';
import type { Replica } from './compute-replicas.ts';
import { ordinalOf } from './owns-pod.ts';

/** What the agent knows about pods. */
export interface PodLookup {
  /** Returns the accepted revision of this pod, and whether that is `pod`. Returns undefined if there is none. */
  accepted: (pod: Pod) => AcceptedRevision | undefined;
  /** Returns the pod of this name that runs or should run. Returns undefined if none is declared. */
  declaredPod: (pod: PodName) => Pod | undefined;
  /** The pods that the agent knows: declared ones, those that are stopping, and those of an earlier agent. */
  knownPods: () => Pod[];
  /** Returns undefined until the agent has read it. */
  statusOf: (pod: Pod) => PodStatus | undefined;
  /** Returns why a pod cannot run on this node now. Returns undefined if it can. */
  rejectionOf: (uid: string) => Rejection | undefined;
  /** True if this pod is Ready and nothing in it runs from an earlier manifest. */
  isWellAsDeclared: (pod: Pod) => boolean;
}

/**
 * Returns the existing pods of a workload. `podAt` returns the newest revision of its pod with an ordinal.
 * `startsAgain` is true for a pod that starts once all pods of the earlier revision have stopped.
 */
export function findReplicas(
  workload: ReplicatedWorkload,
  podAt: (ordinal: number) => Pod,
  startsAgain: (pod: PodName) => boolean,
  { accepted, declaredPod, knownPods, statusOf, isWellAsDeclared, rejectionOf }: PodLookup,
): Replica[] {
  const { update } = workload;
  const named = new Map<number, Pod[]>();
  for (const pod of knownPods()) {
    const ordinal = ordinalOf(workload, pod.metadata);
    if (ordinal !== undefined) named.set(ordinal, [...(named.get(ordinal) ?? []), pod]);
  }
  for (const ordinal of declaredOrdinals(workload)) if (!named.has(ordinal)) named.set(ordinal, []);
  return [...named].flatMap(([ordinal, known]): Replica[] => {
    const given = podAt(ordinal);
    const revision = accepted(given);
    const pod = declaredPod(given.metadata);
    const isRecreated = pod === undefined && startsAgain(given.metadata);
    const isRemoved = revision === undefined || (isOutdated(revision) && (isRecreated || update.type === 'Recreate'));
    if (isRemoved && pod === undefined && known.length === 0) return [];
    const isStopping = pod === undefined && (revision === undefined || isRecreated);
    // A pod that stops may have no record any more.
    const isEarlier = isStopping
      ? known.some((one) => revisionOf(one) !== revisionOf(given))
      : revision?.isGiven === false;
    const newest = [...(revision === undefined ? [] : [revision.pod]), ...(revision?.isGiven === false ? [] : [given])];
    const isNewest = pod !== undefined && newest.map(revisionOf).includes(revisionOf(pod));
    const rejection = rejectionOf(pod?.metadata.uid ?? given.metadata.uid);
    const readySince = isNewest && isWellAsDeclared(pod) ? readyAt(statusOf(pod)) : undefined;
    return [
      {
        ordinal,
        revision: isEarlier ? 'earlier' : 'declared',
        changedAt: revision?.takenAt ?? 0,
        isKnown: pod !== undefined && statusOf(pod) !== undefined,
        isPinned: revision?.isPinned ?? false,
        ...(readySince !== undefined && { readySince }),
        ...(rejection && { rejection: { reason: rejection.reason, message: rejection.message } }),
        isStopping,
      },
    ];
  });
}

const isOutdated = ({ isGiven, isPinned }: AcceptedRevision): boolean => !isGiven && !isPinned;

function readyAt(status: PodStatus | undefined): number | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? (parseRfc3339Ms(ready.lastTransitionTime ?? '') ?? 0) : undefined;
}
