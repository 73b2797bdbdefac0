import type { Pod, PodSpec, PodStatus } from '../api/types.ts';
import { sourceOf } from '../api/values/config-annotations.ts';
import { podFullName, podKey } from '../api/values/pod-names.ts';
import { workloadKey } from '../api/values/workload.ts';
import type { KubeletParts } from './build/new-kubelet.ts';
import { outdatedContainers, runsOf } from './sync-loop/outdated-containers.ts';
import type { Redactor } from './redaction/redactor.ts';
import type { EngineActivity, EngineSnapshot, PodActivity, PodSnapshot, WorkloadSnapshot } from './view/snapshot.ts';

interface SnapshotOptions {
  nodeIPs: readonly string[];
  /** Leaves out `outdatedContainers`. */
  brief: boolean;
}

/** Returns the engine's current state. The caller adds the fixed parts. */
export function takeSnapshot(
  parts: KubeletParts,
  options: SnapshotOptions,
): Pick<EngineSnapshot, 'pressures' | 'pleg' | 'sources' | 'workloads' | 'serviceProblems' | 'pods'> & {
  runtime: Pick<
    EngineSnapshot['runtime'],
    'name' | 'version' | 'error' | 'networkError' | 'networkCommands' | 'readOnlyDisk'
  >;
} {
  const { runtimeState, pleg, eventWatch, config, redactor } = parts;
  const { lastRelistAt, lastRelistMs } = pleg;
  const error = runtimeState.waitsBecause();
  const workloads = workloadSnapshots(parts);
  const serviceProblems = parts.services.snapshot().map((one) => ({ ...one, message: redactor.text(one.message) }));
  const { networkError, networkCommands, readOnlyDisk, name, version } = runtimeState;
  return {
    runtime: {
      name,
      version,
      ...(error === undefined ? {} : { error: redactor.text(error) }),
      ...(readOnlyDisk !== undefined && { readOnlyDisk }),
      ...(networkError === undefined ? {} : { networkError: redactor.text(networkError) }),
      ...(networkCommands.length > 0 && { networkCommands }),
    },
    pressures: parts.conditions.snapshot(),
    pleg: {
      mode: eventWatch.live === undefined ? 'generic' : 'evented',
      ...(lastRelistAt === undefined ? {} : { lastRelistAt }),
      ...(lastRelistMs === undefined ? {} : { lastRelistMs }),
    },
    sources: config.snapshot().map((source) => ({ ...source, problems: redactor.problems(source.problems) })),
    ...(workloads.length > 0 && { workloads }),
    ...(serviceProblems.length > 0 && { serviceProblems }),
    pods: podSnapshots(parts, options),
  };
}

/** Returns what metrics count. The caller adds the fixed parts. */
export function takeActivity(parts: KubeletParts): Omit<EngineActivity, 'nodeName'> {
  const { pleg, workers, podManager, handlers } = parts;
  const { lastRelistAt } = pleg;
  const pods = knownPods(parts).map((known): PodActivity => {
    const { uid } = known.metadata;
    const pod = withStatus(parts, known);
    const isDeclared = podManager.get(uid) !== undefined && !handlers.isOutgoing(known);
    return workers.has(uid) ? { pod, isDeclared, state: workers.snapshot(uid).state } : { pod, isDeclared };
  });
  const runtimeOnly = workers.runtimeOnlyStates();
  const workloads = parts.workloads.snapshot();
  return { ...(lastRelistAt === undefined ? {} : { lastRelistAt }), pods, workloads, runtimeOnly };
}

/** Returns a declared pod, or one that is still terminating, with its ephemeral containers and its newest status. */
export function findPod(parts: KubeletParts, uid: string): Pod | undefined {
  const { podManager, workers } = parts;
  const pod = podManager.get(uid) ?? workers.pods().find(({ metadata }) => metadata.uid === uid);
  return pod && withStatus(parts, pod);
}

function workloadSnapshots({ workloads, config, redactor }: KubeletParts): WorkloadSnapshot[] {
  return workloads.snapshot().map((workload) => {
    const conditions = workload.conditions.map((one) => ({ ...one, message: redactor.text(one.message) }));
    const declaredBy = config.declarer(workloadKey(workload));
    return { ...workload, conditions, ...(declaredBy && { declaredBy }) };
  });
}

/** If a pod has several revisions, the declared one comes last. */
function podSnapshots(parts: KubeletParts, options: SnapshotOptions): PodSnapshot[] {
  const pods = knownPods(parts);
  const declared = new Map(
    parts.podManager
      .pods()
      .filter((pod) => !parts.handlers.isOutgoing(pod))
      .map((pod) => [podFullName(pod.metadata), pod.metadata.uid]),
  );
  return pods
    .map((pod) => {
      const next = declared.get(podFullName(pod.metadata));
      return podSnapshot(parts, pod, next === pod.metadata.uid ? undefined : next, options);
    })
    .sort((a, b) => compare(podKey(a.pod.metadata), podKey(b.pod.metadata)) || Number(isLast(a)) - Number(isLast(b)));
}

/** Returns the declared pods, and undeclared ones that are still terminating. */
function knownPods({ podManager, workers }: KubeletParts): Pod[] {
  const declared = podManager.pods();
  const uids = new Set(declared.map(({ metadata }) => metadata.uid));
  return [...declared, ...workers.pods().filter(({ metadata }) => !uids.has(metadata.uid))];
}

/** Returns the pod with its ephemeral containers and its newest status. */
function withStatus({ statusManager, ephemeral }: KubeletParts, declared: Pod): Pod {
  const status = statusManager.get(declared.metadata.uid) ?? declared.status;
  const effective = ephemeral.effective(declared);
  return status === undefined ? effective : { ...effective, status };
}

function podSnapshot(
  parts: KubeletParts,
  declared: Pod,
  replacedBy: string | undefined,
  { nodeIPs, brief }: SnapshotOptions,
): PodSnapshot {
  const { workQueue, starter, workers, pullWatch, events, inPlaceUpdates, redactor } = parts;
  const { uid } = declared.metadata;
  const known = withStatus(parts, declared);
  const pod = known.status === undefined ? known : { ...known, status: withNodeIPs(known.status, known.spec, nodeIPs) };
  const newest = inPlaceUpdates.nextOf(uid) ?? declared;
  const outdated = brief ? [] : outdatedContainers(pod, newest, runsOf(parts, declared));
  const waitingUpdate = parts.revisions.keptUpdate(declared) ?? inPlaceUpdates.waitOf(uid);
  const restarting = parts.operations.restartingContainers(declared);
  const nextSyncAt = workQueue.dueAt(uid);
  const rejection = starter.rejectionOf(uid);
  const awaits = starter.awaitedBy(uid);
  const sandboxDelay = parts.sandboxDelays.get(uid);
  const pulls = pullWatch.of(uid);
  const declaredBy = parts.config.declarer(`Pod/${podKey(declared.metadata)}`);
  const backOffUntil = backOffEnds(parts, uid);
  return {
    pod,
    source: sourceOf(pod),
    ...(declaredBy === undefined ? {} : { declaredBy }),
    ...(replacedBy === undefined ? {} : { replacedBy }),
    ...(parts.undeclaredPods.isKept(uid) && { isUndeclared: true }),
    ...(outdated.length === 0 ? {} : { outdatedContainers: outdated }),
    ...(restarting.length === 0 ? {} : { restarting }),
    ...(waitingUpdate === undefined
      ? {}
      : { waitingUpdate: { ...waitingUpdate, message: redactor.text(waitingUpdate.message) } }),
    worker: { ...shownWorker(workers.snapshot(uid), redactor), ...(nextSyncAt === undefined ? {} : { nextSyncAt }) },
    ...(backOffUntil && { backOffUntil }),
    ...(rejection === undefined ? {} : { rejection: { ...rejection, message: redactor.text(rejection.message) } }),
    ...(awaits && { awaits }),
    ...(sandboxDelay && { sandboxDelay }),
    ...(pulls.length === 0 ? {} : { pulls }),
    events: events.eventsOf(uid),
  };
}

const isLast = ({ replacedBy }: PodSnapshot): boolean => replacedBy === undefined;
const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
function shownWorker<W extends { lastSyncError?: string }>(worker: W, redactor: Redactor): W {
  const { lastSyncError } = worker;
  return lastSyncError === undefined ? worker : { ...worker, lastSyncError: redactor.text(lastSyncError) };
}

/**
 * Returns the status with the node's addresses. A pod on the host network also has them as its pod IPs. kubelet:
 * kubelet_pods.go generateAPIPodStatus, with an API server
 */
export function withNodeIPs(status: PodStatus, { hostNetwork }: PodSpec, nodeIPs: readonly string[]): PodStatus {
  const [hostIP] = nodeIPs;
  if (hostIP === undefined) return status;
  const ips = nodeIPs.map((ip) => ({ ip }));
  const isOnHost = hostNetwork === true && !status.podIP;
  return { ...status, hostIP, hostIPs: ips, ...(isOnHost && { podIP: hostIP, podIPs: ips }) };
}

/**
 * Returns by container when its current back-off is over, rounded to whole seconds. Returns undefined if there is none.
 */
function backOffEnds({ reasonCache, clock }: KubeletParts, uid: string): PodSnapshot['backOffUntil'] {
  const now = clock.monotonic();
  const ends = [...reasonCache.of(uid)].flatMap(([container, { retryAtMonotonic = 0 }]) =>
    retryAtMonotonic > now ? [[container, Math.round((clock.now() + retryAtMonotonic - now) / 1000) * 1000]] : [],
  );
  return ends.length === 0 ? undefined : (Object.fromEntries(ends) as Record<string, number>);
}
