import type { CountOrPercent, ReplicatedWorkload } from '../../api/values/workload.ts';
import { replicaName } from '../../api/values/replica-pod.ts';
import type { Rejection, WorkloadCondition, WorkloadStatus } from '../view/snapshot.ts';
import { nameTaken, type ReplicaFailure, replicaFailures } from './replica-failure.ts';

/** One existing pod of a workload. */
export interface Replica {
  ordinal: number;
  /** Whether its newest accepted revision is the one that the workload declares. */
  revision: 'declared' | 'earlier';
  /** When its revision was accepted; milliseconds since the epoch. */
  changedAt: number;
  /** True if it stays at its revision until an operator or the manifest changes that. */
  isPinned: boolean;
  /** False until the agent has read its status. */
  isKnown: boolean;
  /** Since when it is Ready and runs its newest accepted revision. Absent if it does not. */
  readySince?: number;
  /** True if it stops. */
  isStopping: boolean;
  /** Why it cannot run on this node now. Absent if it can. */
  rejection?: Pick<Rejection, 'reason' | 'message'>;
}

export interface WantedReplica {
  ordinal: number;
  /** Whether the pod runs the declared revision or keeps its earlier one. */
  revision: 'declared' | 'earlier';
}

interface ReplicasDecision {
  /** By ordinal. */
  wanted: WantedReplica[];
  /** Ordinals of pods that wait until the earlier revision has stopped. Absent if none wait. */
  recreated?: number[];
  status: WorkloadStatus;
  nextCheckAt?: number;
}

/**
 * Decides which pods of a workload run, and which of them change to the declared revision now. `workload.replicas` is
 * the count to reach. `ownerOf` returns the other pod that has the name of an ordinal, as the subject of a sentence.
 *
 * The pods have stable names, so an update goes pod by pod: each keeps its earlier revision until its turn. Pods beyond
 * the replicas (maxSurge) have the next ordinals, run the declared revision first, and are removed when all others are
 * updated. To recreate several pods, those of the earlier revision are removed first. kubelet:
 * pkg/controller/deployment/rolling.go, recreate.go, pkg/controller/statefulset/stateful_set_control.go
 */
export function computeReplicas(
  workload: ReplicatedWorkload,
  pods: readonly Replica[],
  now: number,
  ownerOf: (ordinal: number) => string | undefined = () => undefined,
): ReplicasDecision {
  const isForeign = (ordinal: number): boolean => ownerOf(ordinal) !== undefined;
  const { replicas, firstOrdinal, minReadySeconds, update } = workload;
  const { maxUnavailable } = limitsOf(workload);
  const byOrdinal = new Map(pods.filter(({ isStopping }) => !isStopping).map((pod) => [pod.ordinal, pod]));
  const isAvailable = ({ readySince }: Replica): boolean =>
    readySince !== undefined && now - readySince >= minReadySeconds * 1000;
  const found = (ordinals: readonly number[]): Replica[] => ordinals.flatMap((ordinal) => byOrdinal.get(ordinal) ?? []);

  // Step 1: create missing pods. An ordered workload waits for those before.
  const regular = range(firstOrdinal, replicas);
  const firstLate = regular.findIndex((ordinal) => !found([ordinal]).some(isAvailable));
  const staying = stayingOrdinals(workload, pods);
  const recreated = staying === undefined ? [] : regular.filter((ordinal) => !staying.has(ordinal));
  const mayCreate = (ordinal: number): boolean =>
    !recreated.includes(ordinal) &&
    (byOrdinal.has(ordinal) || !update.isOrdered || firstLate === -1 || ordinal - firstOrdinal <= firstLate);
  const existing = found(regular);

  // Step 2: run pods of the declared revision beyond the replicas, until all others are updated and available.
  const mayUpdate = !workload.isPaused && update.type !== 'OnDelete';
  const isRollingOut = existing.some(({ revision }) => revision === 'earlier') && mayUpdate;
  const isLate = existing.some((pod) => pod.revision === 'earlier' || !isAvailable(pod));
  const extra = extraOrdinals(workload, firstOrdinal + replicas, isForeign);
  const surge = isRollingOut ? extra : isLate ? extra.filter((ordinal) => byOrdinal.has(ordinal)) : [];
  const counted = [...existing, ...found(surge)];

  // Step 3: change pods to the declared revision, as many as may be unavailable.
  const minAvailable = Math.max(0, replicas - maxUnavailable);
  const available = counted.filter(isAvailable).length;
  const unavailable = counted.filter((pod) => pod.revision === 'declared' && !isAvailable(pod));
  const candidates = counted.filter(
    ({ ordinal, revision, isPinned }) =>
      revision === 'earlier' && !isPinned && ordinal - firstOrdinal >= update.partition && mayUpdate,
  );
  if (update.isDescending) candidates.reverse();
  // Pods that wait for one before them are missing, and that one may never become Ready without a change.
  const budget = Math.max(counted.length, replicas) - minAvailable - unavailable.length;
  const turns =
    staying !== undefined
      ? []
      : minAvailable === 0
        ? candidates
        : turnsOf(candidates, budget, available - minAvailable);
  const changing = new Set(turns.map(({ ordinal }) => ordinal));
  const revisionOf = (ordinal: number): WantedReplica['revision'] =>
    byOrdinal.get(ordinal)?.revision === 'earlier' && !changing.has(ordinal) ? 'earlier' : 'declared';

  // Step 4: remove pods that are not wanted. An ordered workload removes the last one first, and waits for its end.
  const surplus = pods.filter(({ ordinal }) => !regular.includes(ordinal)).sort((a, b) => b.ordinal - a.ordinal);
  const isRemoving = surplus.some(({ isStopping }) => isStopping);
  const last = update.isOrdered ? surplus.filter(({ isStopping }) => !isStopping).slice(isRemoving ? 0 : 1) : [];

  const wanted = [
    ...regular.filter((ordinal) => mayCreate(ordinal) && !isForeign(ordinal)),
    ...surge,
    ...last.map(({ ordinal }) => ordinal),
  ]
    .map((ordinal) => ({ ordinal, revision: revisionOf(ordinal) }))
    .sort((a, b) => a.ordinal - b.ordinal);

  const running = found(wanted.map(({ ordinal }) => ordinal));
  const updated = running.filter(({ revision }) => revision === 'declared');
  const counts = {
    desired: replicas,
    current: running.length,
    ready: running.filter(({ readySince }) => readySince !== undefined).length,
    available: running.filter(isAvailable).length,
    updated: updated.length,
  };
  const isComplete =
    running.length === replicas &&
    updated.length >= replicas - update.partition &&
    counts.available === replicas &&
    surge.length === 0;
  const progressedAt = Math.max(0, ...updated.flatMap(({ changedAt, readySince = 0 }) => [changedAt, readySince]));
  const mayProgress = updated.length > 0 && update.type !== 'OnDelete';
  const deadlineAt = progressedAt + workload.progressDeadlineSeconds * 1000;
  const failures = regular.flatMap((ordinal): ReplicaFailure[] => {
    const [name, owner] = [replicaName(workload, ordinal), ownerOf(ordinal)];
    if (owner !== undefined) return [nameTaken(name, owner)];
    return found([ordinal]).flatMap(({ rejection }) => (rejection ? [{ name, ...rejection }] : []));
  });
  const conditions = [
    availableCondition(counts.available >= minAvailable, minAvailable),
    progressingCondition(workload, isComplete, mayProgress && now >= deadlineAt),
    ...replicaFailures(failures),
  ];
  const { kind, namespace, name } = workload;
  const checks = [
    ...running.flatMap((pod) =>
      pod.readySince === undefined || isAvailable(pod) ? [] : [pod.readySince + minReadySeconds * 1000],
    ),
    ...(isComplete || !mayProgress || workload.isPaused ? [] : [deadlineAt]),
  ].filter((at) => at > now);
  return {
    wanted,
    ...(recreated.length > 0 && { recreated }),
    status: { kind, namespace, name, ...counts, conditions },
    ...(checks.length > 0 && { nextCheckAt: Math.min(...checks) }),
  };
}

/**
 * While pods are recreated, returns the ordinals of those that keep running: of the declared revision, and pinned ones.
 * The others start once all pods of the earlier revision have stopped. Returns undefined if none are recreated; a
 * single pod is replaced like one without a workload.
 */
function stayingOrdinals(
  { update, replicas, firstOrdinal, isPaused }: ReplicatedWorkload,
  pods: readonly Replica[],
): Set<number> | undefined {
  const earlier = pods.filter(({ revision, isPinned }) => revision === 'earlier' && !isPinned);
  const isSingle = replicas === 1 && earlier.every(({ ordinal }) => ordinal === firstOrdinal);
  if (update.type !== 'Recreate' || isPaused || isSingle || earlier.length === 0) return undefined;
  // First the sources must declare the pods of an earlier agent. Otherwise this one would keep them as undeclared.
  const mayStop = earlier.every(({ isKnown, isStopping }) => isKnown || isStopping);
  const staying = pods.filter((pod) => !pod.isStopping && !(mayStop && earlier.includes(pod)));
  return new Set(staying.map(({ ordinal }) => ordinal));
}

/**
 * Returns the pods whose turn it is: first those that are not Ready, which costs nothing, and then as many of the
 * others as may become unavailable. Not those whose status is unknown, or that are about to become available.
 */
function turnsOf(candidates: readonly Replica[], budget: number, spare: number): Replica[] {
  const unready = candidates.filter(({ isKnown, readySince }) => isKnown && readySince === undefined);
  const first = unready.slice(0, Math.max(0, budget));
  const ready = candidates.filter(({ readySince }) => readySince !== undefined);
  return [...first, ...ready.slice(0, Math.max(0, Math.min(budget - first.length, spare)))];
}

/** kubelet: pkg/controller/deployment/util/deployment_util.go ResolveFenceposts */
function limitsOf({ replicas, update, template }: ReplicatedWorkload): { maxSurge: number; maxUnavailable: number } {
  // A single pod changes like one without a workload, if nothing else is written.
  const isPlain = update.maxSurge === undefined && replicas <= 1;
  const [surge, unavailable] = isPlain ? [0, 1] : [update.maxSurge ?? '25%', update.maxUnavailable ?? '25%'];
  const maxSurge = hasHostPorts(template.spec) ? 0 : countOf(surge, replicas, Math.ceil);
  const maxUnavailable = countOf(unavailable, replicas, Math.floor);
  return { maxSurge, maxUnavailable: maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable };
}

/** Two pods of such a template cannot run next to each other. */
export function hasHostPorts({ hostNetwork, containers }: ReplicatedWorkload['template']['spec']): boolean {
  return hostNetwork === true || containers.some(({ ports = [] }) => ports.some(({ hostPort }) => hostPort));
}

function countOf(value: CountOrPercent, replicas: number, round: (count: number) => number): number {
  return typeof value === 'number' ? value : round((Number(value.replace('%', '')) * replicas) / 100);
}

const range = (first: number, length: number): number[] => Array.from({ length }, (_, index) => first + index);

/** Returns the ordinals, from `first` on, of the pods that may run beyond the replicas during an update. */
export function extraOrdinals(
  workload: ReplicatedWorkload,
  first: number,
  isForeign: (ordinal: number) => boolean,
): number[] {
  const count = Math.min(limitsOf(workload).maxSurge, workload.replicas);
  const free: number[] = [];
  for (let ordinal = first; free.length < count; ordinal++) if (!isForeign(ordinal)) free.push(ordinal);
  return free;
}

function availableCondition(isTrue: boolean, minAvailable: number): WorkloadCondition {
  return isTrue
    ? condition('Available', 'True', 'MinimumReplicasAvailable', 'It has minimum availability')
    : condition('Available', 'False', 'MinimumReplicasUnavailable', `Fewer than ${minAvailable} pods are available`);
}

function progressingCondition(
  { isPaused, progressDeadlineSeconds, firstOrdinal, update }: ReplicatedWorkload,
  isComplete: boolean,
  isLate: boolean,
): WorkloadCondition {
  if (update.type === 'OnDelete' && !isPaused) {
    const message = 'Each pod changes to the newest revision when it is restarted';
    return condition('Progressing', isComplete ? 'True' : 'Unknown', 'OnDelete', message);
  }
  if (isComplete) {
    const first = firstOrdinal + update.partition;
    const which = update.partition === 0 ? 'All pods are' : `All pods from ordinal ${first} on are`;
    return condition('Progressing', 'True', 'NewReplicaSetAvailable', `${which} up to date`);
  }
  if (isPaused) return condition('Progressing', 'Unknown', 'DeploymentPaused', 'It is paused');
  if (isLate) {
    const message = `No progress for ${progressDeadlineSeconds}s`;
    return condition('Progressing', 'False', 'ProgressDeadlineExceeded', message);
  }
  return condition('Progressing', 'True', 'ReplicaSetUpdated', 'Pods start or change to the newest revision');
}

const condition = (
  type: string,
  status: WorkloadCondition['status'],
  reason: string,
  message: string,
): WorkloadCondition => ({ type, status, reason, message });
