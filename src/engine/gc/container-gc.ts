import { containerIDOfLogSymlink, podUIDOfLogsDirectory } from '../container/log-paths.ts';
import type { RuntimeContainerState } from '../container/runtime-pod-status.ts';

/**
 * Limits on the exited containers that are kept. A negative number means no limit. kubelet: container/container_gc.go
 * GCPolicy
 */
export interface ContainerGCPolicy {
  minAgeMs: number;
  /** Limit per container of each pod. */
  maxPerPodContainer: number;
  maxContainers: number;
}

/**
 * Keeps the newest exited instance of each container, for its status and `logs --previous`. kubelet:
 * cmd/kubelet/app/options/options.go NewKubeletFlags
 */
export const defaultContainerGCPolicy: ContainerGCPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

export interface ContainerGCRequest {
  policy: ContainerGCPolicy;
  nowMonotonic: number;
  /** False while it is unknown which pods are declared. */
  allSourcesReady: boolean;
  /** True under disk pressure: all containers of finished pods are removed too. */
  evictTerminatedPods: boolean;
  shouldPodContentBeRemoved: (uid: string) => boolean;
  shouldPodRuntimeBeRemoved: (uid: string) => boolean;
  containers: readonly GCContainer[];
  sandboxes: readonly GCSandbox[];
  /** Names in the folder of pod logs. */
  logDirs: readonly string[];
  /** Names of links to missing container logs. */
  brokenLogLinks: readonly string[];
}

export interface GCContainer {
  id: string;
  name: string;
  podUID: string;
  podSandboxID: string;
  state: RuntimeContainerState;
  createdAtMonotonic: number;
}

export interface GCSandbox {
  id: string;
  podUID: string;
  state: 'ready' | 'notready';
  createdAtMonotonic: number;
}

/** What to remove, in this order: containers with their logs, sandboxes, log folders, links. */
export interface ContainerGCPlan {
  /** Containers to stop before they are removed, because they may be running. */
  containersToStop: GCContainer[];
  containersToRemove: GCContainer[];
  sandboxesToRemove: GCSandbox[];
  logDirsToRemove: string[];
  logLinksToRemove: string[];
}

/** Plans one collection. kubelet: kuberuntime/kuberuntime_gc.go GarbageCollect */
export function computeContainerGC(request: ContainerGCRequest): ContainerGCPlan {
  const { containers, allSourcesReady, shouldPodContentBeRemoved } = request;
  const containersToRemove = evictContainers(request);
  const removed = new Set(containersToRemove);
  const left = containers.filter((container) => !removed.has(container));
  return {
    containersToStop: containersToRemove.filter(({ state }) => state === 'unknown'),
    containersToRemove,
    sandboxesToRemove: evictSandboxes(request, left),
    logDirsToRemove: allSourcesReady
      ? request.logDirs.filter((name) => shouldPodContentBeRemoved(podUIDOfLogsDirectory(name)))
      : [],
    logLinksToRemove: request.brokenLogLinks.filter((name) => !mayBeWrittenAgain(name, left)),
  };
}

/** Newest first. */
const byCreated = (a: { createdAtMonotonic: number }, b: { createdAtMonotonic: number }): number =>
  b.createdAtMonotonic - a.createdAtMonotonic;

function evictContainers(request: ContainerGCRequest): GCContainer[] {
  const { policy, allSourcesReady } = request;
  const removed: GCContainer[] = [];
  const units = evictUnits(request);
  const keepNewest = (count: number): void => {
    for (const [key, unit] of units) {
      removed.push(...unit.slice(count));
      units.set(key, unit.slice(0, count));
    }
  };
  for (const [key, unit] of units) {
    if (!allSourcesReady || !isRemoved(unit[0]?.podUID ?? '', request)) continue;
    removed.push(...unit);
    units.delete(key);
  }
  if (policy.maxPerPodContainer >= 0) keepNewest(policy.maxPerPodContainer);
  const all = (): GCContainer[] => [...units.values()].flat();
  if (policy.maxContainers < 0 || all().length <= policy.maxContainers) return removed;
  // Keeps the same number of containers of every unit. If there are still too many, the oldest of all are removed.
  keepNewest(Math.max(1, Math.floor(policy.maxContainers / units.size)));
  return [...removed, ...all().sort(byCreated).slice(policy.maxContainers)];
}

/** Returns the exited instances of every container of every pod, newest first. */
function evictUnits({ containers, policy, nowMonotonic }: ContainerGCRequest): Map<string, GCContainer[]> {
  const units = new Map<string, GCContainer[]>();
  for (const container of containers.toSorted(byCreated)) {
    if (container.state === 'running' || container.createdAtMonotonic > nowMonotonic - policy.minAgeMs) continue;
    const key = JSON.stringify([container.podUID, container.name]);
    units.set(key, [...(units.get(key) ?? []), container]);
  }
  return units;
}

function isRemoved(
  uid: string,
  { evictTerminatedPods, shouldPodContentBeRemoved, shouldPodRuntimeBeRemoved }: ContainerGCRequest,
): boolean {
  return shouldPodContentBeRemoved(uid) || (evictTerminatedPods && shouldPodRuntimeBeRemoved(uid));
}

/** Returns all sandboxes of each pod except the newest, and except those that are ready or have containers. */
function evictSandboxes(request: ContainerGCRequest, containers: readonly GCContainer[]): GCSandbox[] {
  const inUse = new Set(containers.map(({ podSandboxID }) => podSandboxID));
  const newest = new Map(
    request.sandboxes
      .toSorted(byCreated)
      .reverse()
      .map(({ podUID, id }) => [podUID, id]),
  );
  return request.sandboxes.filter(({ id, podUID, state }) => {
    const isActive = state === 'ready' || inUse.has(id);
    return !isActive && (newest.get(podUID) !== id || isRemoved(podUID, request));
  });
}

/** True if the container has not exited. Then its log may only be missing during a rotation. */
function mayBeWrittenAgain(logLink: string, containers: readonly GCContainer[]): boolean {
  const id = containerIDOfLogSymlink(logLink);
  const container = containers.find((candidate) => candidate.id === id);
  return container !== undefined && container.state !== 'exited';
}
