import type { Pod, PodSpec, PodStatus } from '../api/types.ts';
import { configAnnotations } from '../api/values/config-annotations.ts';
import { podFullName } from '../api/values/pod-names.ts';
import { containerHash } from './container/container-hash.ts';
import type { RuntimePodStatus } from './container/runtime-pod-status.ts';
import type { KubeletParts } from './new-kubelet.ts';
import type { OutgoingText } from './outgoing/outgoing-text.ts';
import type { EngineSnapshot, PodSnapshot } from './view/snapshot.ts';

/** The engine's current state. The caller adds the fixed parts. */
export function takeSnapshot(
  parts: KubeletParts,
  nodeIPs: readonly string[],
): Pick<EngineSnapshot, 'pleg' | 'sources' | 'pods'> & {
  runtime: Pick<EngineSnapshot['runtime'], 'name' | 'version' | 'error' | 'networkError'>;
} {
  const { runtimeState, pleg, eventWatch, config, outgoing } = parts;
  const { lastRelistAt, lastRelistMs } = pleg;
  const error = runtimeState.error();
  const { networkError, name, version } = runtimeState;
  return {
    runtime: {
      name,
      version,
      ...(error === undefined ? {} : { error: outgoing.text(error) }),
      ...(networkError === undefined ? {} : { networkError: outgoing.text(networkError) }),
    },
    pleg: {
      mode: eventWatch.live === undefined ? 'generic' : 'evented',
      ...(lastRelistAt === undefined ? {} : { lastRelistAt }),
      ...(lastRelistMs === undefined ? {} : { lastRelistMs }),
    },
    sources: config.snapshot().map((source) => ({ ...source, problems: outgoing.problems(source.problems) })),
    pods: podSnapshots(parts, nodeIPs),
  };
}

/** Of several revisions of a pod the declared one comes last. */
function podSnapshots(parts: KubeletParts, nodeIPs: readonly string[]): PodSnapshot[] {
  const pods = knownPods(parts);
  const declared = new Map(
    parts.podManager
      .pods()
      .filter((pod) => !parts.handlers.isOutgoing(pod))
      .map((pod) => [podFullName(pod), pod.metadata.uid]),
  );
  return pods
    .map((pod) => {
      const next = declared.get(podFullName(pod));
      return podSnapshot(parts, pod, nodeIPs, next === pod.metadata.uid ? undefined : next);
    })
    .sort((a, b) => compare(sortKey(a.pod), sortKey(b.pod)) || Number(isLast(a)) - Number(isLast(b)));
}

/** Declared pods, and undeclared ones that still terminate. */
function knownPods({ podManager, workers }: KubeletParts): Pod[] {
  const declared = podManager.pods();
  const uids = new Set(declared.map(({ metadata }) => metadata.uid));
  return [...declared, ...workers.pods().filter(({ metadata }) => !uids.has(metadata.uid))];
}

function podSnapshot(
  parts: KubeletParts,
  declared: Pod,
  nodeIPs: readonly string[],
  replacedBy: string | undefined,
): PodSnapshot {
  const { statusManager, workQueue, admission, workers, pullWatch, events, cache, outgoing } = parts;
  const { uid } = declared.metadata;
  const status = statusManager.get(uid) ?? declared.status;
  const pod = status === undefined ? declared : { ...declared, status: withNodeIPs(status, declared.spec, nodeIPs) };
  const outdated = outdatedContainers(pod, cache.get(uid));
  const nextSyncAt = workQueue.dueAt(uid);
  const rejection = admission.rejectionOf(uid);
  const pulls = pullWatch.of(uid);
  return {
    pod,
    source: pod.metadata.annotations?.[configAnnotations.source] === 'http' ? 'http' : 'file',
    ...(replacedBy === undefined ? {} : { replacedBy }),
    ...(outdated.length === 0 ? {} : { outdatedContainers: outdated }),
    worker: { ...shownWorker(workers.snapshot(uid), outgoing), ...(nextSyncAt === undefined ? {} : { nextSyncAt }) },
    ...(rejection === undefined ? {} : { rejection: { ...rejection, message: outgoing.text(rejection.message) } }),
    ...(pulls.length === 0 ? {} : { pulls }),
    events: events.eventsOf(uid),
  };
}

const isLast = ({ replacedBy }: PodSnapshot): boolean => replacedBy === undefined;
const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
function shownWorker<W extends { lastSyncError?: string }>(worker: W, outgoing: OutgoingText): W {
  const { lastSyncError } = worker;
  return lastSyncError === undefined ? worker : { ...worker, lastSyncError: outgoing.text(lastSyncError) };
}

const sortKey = ({ metadata: { namespace, name } }: Pod): string => `${namespace}/${name}`;

/** Names of running containers that were made from an earlier manifest of the same UID. */
export function outdatedContainers({ spec, status }: Pod, runtimeStatus: RuntimePodStatus): string[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return statuses.flatMap(({ name, containerID = '', state }) => {
    const container = containers.find((declared) => declared.name === name);
    if (state?.running === undefined || container === undefined) return [];
    const id = containerID.slice(containerID.indexOf('://') + '://'.length);
    const made = runtimeStatus.containerStatuses.find((known) => known.id === id);
    return made?.hash === containerHash(container) ? [] : [name];
  });
}

/**
 * The status with the node's addresses. A pod on the host network has them as its own. kubelet: kubelet_pods.go
 * generateAPIPodStatus, with an API server
 */
export function withNodeIPs(status: PodStatus, { hostNetwork }: PodSpec, nodeIPs: readonly string[]): PodStatus {
  const [hostIP] = nodeIPs;
  if (hostIP === undefined) return status;
  const ips = nodeIPs.map((ip) => ({ ip }));
  const isOnHost = hostNetwork === true && !status.podIP;
  return { ...status, hostIP, hostIPs: ips, ...(isOnHost && { podIP: hostIP, podIPs: ips }) };
}
