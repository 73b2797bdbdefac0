import { alwaysRestarts } from '../../api/values/restart-rules.ts';
import { computePodActions } from '../../engine/kuberuntime/actions/compute-pod-actions.ts';
import { containerHash } from '../../engine/container/container-hash.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../engine/container/runtime-pod-status.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { writtenAnnotations } from '../../api/values/config-annotations.ts';
import { podFullName, podKey } from '../../api/values/pod-names.ts';
import { computeKeptPods } from '../../engine/gc/compute-kept-pods.ts';
import { computePodChange } from '../../engine/in-place/compute-pod-change.ts';
import { revisionOf } from '../../engine/in-place/identify-pod.ts';
import type { InPlacePolicy } from '../../api/values/in-place.ts';
import { noProbeResults } from '../../engine/container/probe-results.ts';
import type { Container, Pod } from '../../api/types.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import { type ConfigObjectChange, computeConfigObjectChanges } from './config-object-changes.ts';
import { type FieldDifference, fieldDifferences } from './field-differences.ts';
import { computeRevision, type UpdateGates } from '../../engine/operations/compute-revision.ts';
import { type PodRecord, revisionName } from '../../engine/operations/pod-record.ts';
import { ownsPod } from '../../engine/workloads/owns-pod.ts';
import type { CurrentNode, CurrentPod, DesiredNode } from './node-state.ts';

export interface NodeDiff {
  pods: PodChange[];
  configObjects: ConfigObjectChange[];
}

/** The planned change of one pod, and the reason. */
export interface PodChange {
  /** `restart` of some containers, or of the whole pod; `update` leaves every container running. */
  action: 'start' | 'stop' | 'restart' | 'update' | 'stay';
  namespace: string;
  name: string;
  because: string;
  /** The containers that restart while the pod stays. Empty for a `restart` of the whole pod. */
  containers: string[];
  differences: FieldDifference[];
}

/** Computes the changes from the current pods of a node to the desired ones, ordered by pod name. */
export function computeNodeDiff(current: CurrentNode, desired: DesiredNode): NodeDiff {
  const declared = desired.pods.map((pod) => {
    const fullName = podFullName(pod.metadata);
    const running = runningPod(current.pods, pod);
    const change =
      operatedChange(current.records.get(fullName), pod, {
        ...desired.updateGates?.(pod),
        rollOut: desired.rollOuts.get(fullName),
      }) ??
      (running
        ? changeOf(running, pod, current.inPlace, desired)
        : planned('start', pod, 'no pod with this name runs'));
    return { pod, change };
  });
  const names = new Set(desired.pods.map(({ metadata }) => podFullName(metadata)));
  const isOfOtherURL = ({ source, origin = '' }: CurrentPod): boolean =>
    source === 'http' && !desired.urls.includes(origin);
  const isDeclared = (each: CurrentPod): boolean =>
    names.has(podFullName(each.pod.metadata)) ||
    isOfOtherURL(each) ||
    (desired.workloads ?? []).some((workload) => ownsPod(workload, each.pod.metadata));
  const kept = desired.declaresNothing === true ? new Set<string>() : keptPods(current.pods, isDeclared, desired);
  const others = current.pods
    .filter(({ pod }) => !names.has(podFullName(pod.metadata)))
    .map((each) => {
      const { pod, source } = each;
      if (source === 'applied') return planned('stay', pod, 'kubelet-ts apply declared it');
      if (isOfOtherURL(each)) return planned('stay', pod, 'a URL declares it');
      const extra = desired.extraPods.get(podFullName(pod.metadata));
      if (extra !== undefined) return planned('stay', pod, extra);
      return kept.has(pod.metadata.uid)
        ? planned('stay', pod, 'no manifest declares it; only a start with --prune stops it')
        : planned('stop', pod, 'no manifest declares it');
    });
  const goingOn = declared.filter((entry) => entry.change.action === 'stay' || entry.change.action === 'update');
  const users = goingOn.map(({ pod }) => pod);
  return {
    pods: [...declared.map((entry) => entry.change), ...others].sort((a, b) => (podKey(a) < podKey(b) ? -1 : 1)),
    configObjects: computeConfigObjectChanges(current.configObjects, desired.configObjects, users),
  };
}

/** UIDs of the pods that keep running without a manifest, by the rule that a start applies. */
function keptPods(
  pods: readonly CurrentPod[],
  isDeclared: (pod: CurrentPod) => boolean,
  desired: DesiredNode,
): Set<string> {
  const earlier = pods.map((each) => ({
    uid: each.pod.metadata.uid,
    source: each.source,
    isRunning: each.left === 'running',
    runsOnce: !alwaysRestarts(each.pod.spec),
    isDeclared: isDeclared(each),
    state: each.undeclared,
  }));
  const isStart = pods.some(({ left }) => left !== undefined);
  return new Set(computeKeptPods(earlier, desired.pods.length > 0 || !isStart));
}

/**
 * The current pod of this name. Prefers the one with the same UID, because a pod that it replaced may still be
 * stopping.
 */
function runningPod(pods: readonly CurrentPod[], desired: Pod): CurrentPod | undefined {
  const named = pods.filter(({ pod }) => podFullName(pod.metadata) === podFullName(desired.metadata));
  return named.find(({ pod }) => pod.metadata.uid === desired.metadata.uid) ?? named.at(-1);
}

/** A request of an operator or an update gate wins over the manifest. Returns undefined if there is none. */
function operatedChange(record: PodRecord | undefined, desired: Pod, gates: UpdateGates): PodChange | undefined {
  if (record?.isStopped === true) return planned('stay', desired, 'it is stopped until kubelet-ts start');
  const choice = computeRevision(record, revisionName(desired), gates);
  if (choice.kind === 'declared') return undefined;
  return planned('stay', desired, `${choice.message}; revision ${choice.revision.number} runs`);
}

function changeOf(
  current: CurrentPod,
  desired: Pod,
  inPlace: InPlacePolicy,
  { uidUnder, derivedUIDs = [] }: DesiredNode,
): PodChange {
  const isCurrent = (uid: string | undefined): boolean =>
    uid === current.pod.metadata.uid || uid === revisionOf(current.pod);
  const isSame = isCurrent(desired.metadata.uid);
  const wouldBeSame = current.origin !== undefined && isCurrent(uidUnder(desired, current.origin));
  const differences = podDifferences(current, desired);
  if (!isSame && !wouldBeSame) {
    const isDerived = derivedUIDs.includes(desired.metadata.uid);
    const because = replacedBecause(current, desired, { isDerived, inPlace });
    if (because !== undefined) return { ...planned('restart', desired, `replaces the pod: ${because}`), differences };
  }
  if (differences.length === 0) return planned('stay', desired, '');
  const actions = computePodActions(desired, current.status ?? allRunning(current.pod), noProbeResults);
  const podChange = current.status === undefined ? computePodChange(current.pod, desired, inPlace) : undefined;
  const { resize: resized, isPodResized } =
    podChange?.kind === 'inPlace' ? podChange : { resize: [], isPodResized: false };
  const started = startedContainers(desired, actions);
  const containers = [...new Set([...started, ...resized.flatMap(({ name, restart }) => (restart ? [name] : []))])];
  if (actions.killPod) return { ...planned('restart', desired, 'its sandbox changes'), differences };
  if (containers.length === 0) {
    const because =
      resized.length > 0 || isPodResized ? 'resized in place, no container restarts' : 'no container restarts';
    return { ...planned('update', desired, because), differences };
  }
  return { ...planned('restart', desired, 'only these containers'), containers, differences };
}

/** Why the pod is replaced. Returns undefined if the desired revision is applied in place. */
function replacedBecause(
  { pod, status }: CurrentPod,
  desired: Pod,
  { isDerived, inPlace }: { isDerived: boolean; inPlace: InPlacePolicy },
): string | undefined {
  if (!isDerived) return 'its UID changes';
  if (status !== undefined) return 'the manifest that it was created from is unknown';
  const phase = pod.status?.phase;
  if (isPodPhaseTerminal(phase)) return 'it has completed';
  if (phase === undefined && !alwaysRestarts(pod.spec)) return 'no agent runs, so it may have completed';
  const podChange = computePodChange(pod, desired, inPlace);
  return podChange.kind === 'replace' ? podChange.because : undefined;
}

function startedContainers(
  { spec }: Pod,
  { containersToStart, initContainersToStart }: ReturnType<typeof computePodActions>,
): string[] {
  return [
    ...initContainersToStart.map((index) => spec.initContainers?.[index]?.name ?? ''),
    ...containersToStart.map((index) => spec.containers[index]?.name ?? ''),
  ];
}

function podDifferences({ pod, status }: CurrentPod, desired: Pod): FieldDifference[] {
  return status ? containerDifferences(status, desired) : fieldDifferences(comparable(pod), comparable(desired));
}

/** The differences that the runtime shows: the image, and the hash of the container. */
function containerDifferences({ containerStatuses }: RuntimePodStatus, { spec }: Pod): FieldDifference[] {
  return (['initContainers', 'containers'] as const).flatMap((list) =>
    (spec[list] ?? []).flatMap((container, index) => {
      const status = containerStatuses.find(({ name }) => name === container.name);
      if (status?.hash === containerHash(container)) return [];
      const path = `spec.${list}[${index}]${status ? '.image' : ''}`;
      return [{ path, ...(status && { current: status.image }), desired: status ? container.image : container }];
    }),
  );
}

/** The parts of a pod that its manifest determines. */
function comparable({ metadata: { uid: _uid, annotations, ...metadata }, spec }: Pod): object {
  const written = writtenAnnotations(annotations);
  return { metadata: { ...metadata, ...(Object.keys(written).length > 0 && { annotations: written }) }, spec };
}

/** A status with all containers running, so that only a changed definition restarts one. */
function allRunning({ metadata: { uid, name, namespace }, spec }: Pod): RuntimePodStatus {
  const status = (container: Container, isRunning: boolean): RuntimeContainerStatus => ({
    id: container.name,
    name: container.name,
    state: isRunning ? 'running' : 'exited',
    createdAt: 1,
    startedAt: 1,
    finishedAt: isRunning ? 0 : 1,
    exitCode: 0,
    image: container.image ?? '',
    imageRef: '',
    hash: containerHash(container),
    restartCount: 0,
    reason: '',
    message: '',
  });
  return {
    uid,
    name,
    namespace,
    ips: ['0.0.0.0'],
    containerStatuses: [
      ...(spec.initContainers ?? []).map((container) => status(container, isSidecar(container))),
      ...spec.containers.map((container) => status(container, true)),
    ],
    sandboxStatuses: [
      {
        id: 'sandbox',
        attempt: 0,
        state: 'ready',
        createdAt: 1,
        networkMode: spec.hostNetwork === true ? 'node' : 'pod',
        ip: '0.0.0.0',
      },
    ],
  };
}

function planned(action: PodChange['action'], { metadata: { namespace, name } }: Pod, because: string): PodChange {
  return { action, namespace, name, because, containers: [], differences: [] };
}
