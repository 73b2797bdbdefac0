import type { Pod } from '../../api/types.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import { declaredOrdinals, replicaClaims } from '../../api/values/replica-pod.ts';
import type { ReplicatedWorkload } from '../../api/values/workload.ts';
import { computeReplicas } from './compute-replicas.ts';
import { keepsRevision } from './effective-workload.ts';
import { findReplicas, type PodLookup } from './find-replicas.ts';
import type { OwnerOf, PodOwner } from './pod-owner.ts';
import type { WorkloadDecision } from './workload-decision.ts';

interface Known extends PodLookup {
  /** As its manifest declares it. */
  declared: ReplicatedWorkload;
  podAt: (ordinal: number) => Pod;
  /** True for a pod that starts once all pods of the earlier revision have stopped. */
  startsAgain: (pod: PodName) => boolean;
  ownerOf: OwnerOf;
  now: number;
}

/** Decides about a workload that keeps pods running, with what operators requested. */
export function decideReplicas(
  workload: ReplicatedWorkload,
  { declared, podAt, startsAgain, ownerOf, now, ...lookup }: Known,
): WorkloadDecision {
  const ownerAt = (ordinal: number): PodOwner | undefined => ownerOf(podAt(ordinal));
  const replicas = findReplicas(workload, podAt, startsAgain, lookup).filter(
    ({ ordinal }) => ownerAt(ordinal) === undefined,
  );
  const { wanted, recreated, status, nextCheckAt } = computeReplicas(
    workload,
    replicas,
    now,
    (ordinal) => ownerAt(ordinal)?.text,
  );
  const taken = declaredOrdinals(workload).filter((ordinal) => ownerAt(ordinal)?.isOfOtherSource);
  const own = new Set(declaredOrdinals(declared));
  const claims = wanted.flatMap(({ ordinal }) => (own.has(ordinal) ? [] : replicaClaims(workload, ordinal)));
  return {
    pods: wanted.map(({ ordinal, revision }) => ({
      pod: podAt(ordinal),
      isOwned: true,
      ...(revision === 'earlier' && { keepsRevision: keepsRevision(workload) }),
    })),
    ...(taken.length > 0 && { taken: taken.map((ordinal) => ({ pod: podAt(ordinal), isOwned: true as const })) }),
    ...(recreated && { recreated: recreated.map((ordinal) => podAt(ordinal).metadata) }),
    ...(claims.length > 0 && { claims }),
    status,
    ...(nextCheckAt !== undefined && { nextCheckAt }),
  };
}
