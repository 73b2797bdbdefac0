import type { Container, Pod } from '../../../api/types.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import { findContainerStatus, type RuntimePodStatus } from '../../container/runtime-pod-status.ts';
import type { ContainerToKill, PodActions } from './pod-actions.ts';

/** A running container that the actions of a sync do not touch. */
export interface KeptContainer {
  container: Container;
  containerID: string;
  isInit: boolean;
  /** Index in the container list of the pod spec. */
  index: number;
}

/** The running containers that the actions do not touch: sidecars first, then regular containers. */
export function keptContainers({ spec }: Pod, podStatus: RuntimePodStatus, actions: PodActions): KeptContainer[] {
  if (actions.killPod) return [];
  const killed = new Set(actions.containersToKill.map(({ containerID }) => containerID));
  const kept = (isInit: boolean, container: Container, index: number): KeptContainer[] => {
    const status = findContainerStatus(podStatus, container.name);
    if (status?.state !== 'running' || killed.has(status.id)) return [];
    return [{ container, containerID: status.id, isInit, index }];
  };
  return [
    ...(spec.initContainers ?? []).flatMap((init, index) => (isSidecar(init) ? kept(true, init, index) : [])),
    ...spec.containers.flatMap((container, index) => kept(false, container, index)),
  ];
}

/**
 * Adds restarts of these containers to the actions. Each is killed with the message that `messageOf` returns, and
 * started again.
 */
export function addRestarts(
  actions: PodActions,
  restarts: readonly KeptContainer[],
  messageOf: (name: string) => string,
): PodActions {
  const kills = restarts.map(({ container: { name }, containerID }): ContainerToKill => {
    return { containerID, name, message: messageOf(name), reason: '' };
  });
  const withStarts = (starts: readonly number[], isInit: boolean): number[] =>
    [...starts, ...restarts.flatMap((kept) => (kept.isInit === isInit ? kept.index : []))].sort((a, b) => a - b);
  return {
    ...actions,
    containersToKill: [...actions.containersToKill, ...kills],
    initContainersToStart: withStarts(actions.initContainersToStart, true),
    containersToStart: withStarts(actions.containersToStart, false),
  };
}

/**
 * Adds the restarts that an operator requested. `ids` are the containers to restart. An exited one is restarted anyway
 * by its restartPolicy, which is Always.
 */
export function computeRestartActions(
  pod: Pod,
  podStatus: RuntimePodStatus,
  actions: PodActions,
  ids: readonly string[],
): PodActions {
  if (ids.length === 0) return actions;
  const restarts = keptContainers(pod, podStatus, actions).filter(({ containerID }) => ids.includes(containerID));
  return addRestarts(actions, restarts, (name) => `Container ${name} is restarted by request`);
}
