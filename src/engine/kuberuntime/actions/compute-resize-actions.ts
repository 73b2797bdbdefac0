import type { Container, Pod } from '../../../api/types.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import { findContainerStatus, type RuntimePodStatus } from '../../container/runtime-pod-status.ts';
import { containerResize } from '../../in-place/container-resize.ts';
import type { PodActions } from './pod-actions.ts';

/** Resources of containers that still have those of an earlier revision, by container id. */
export type OutdatedResources = Readonly<Record<string, Container['resources']>>;

export interface ContainerToResize {
  containerID: string;
  name: string;
  /** Such as `memory limit 64Mi → 128Mi`. Empty if only an interrupted resize is repeated. */
  changes: string[];
}

/**
 * Adds a resize to the actions of a sync. A running container is updated in place, or restarts if its resizePolicy
 * wants that. `refused`: ids of containers that the runtime cannot update; these restart too. kubelet:
 * kuberuntime_manager.go computePodResizeAction
 */
export function computeResizeActions(
  pod: Pod,
  podStatus: RuntimePodStatus,
  actions: PodActions,
  outdated: OutdatedResources,
  refused: ReadonlySet<string>,
): { actions: PodActions; containersToResize: ContainerToResize[] } {
  const containersToResize: ContainerToResize[] = [];
  const planned = {
    ...actions,
    containersToKill: [...actions.containersToKill],
    containersToStart: [...actions.containersToStart],
    initContainersToStart: [...actions.initContainersToStart],
  };
  if (actions.killPod) return { actions, containersToResize };
  const restart = (name: string, containerID: string, index: number, starts: number[]): void => {
    const message = `Container ${name} resize requires restart`;
    planned.containersToKill.push({ containerID, name, message, reason: '' });
    starts.push(index);
    starts.sort((a, b) => a - b);
  };
  const lists = [
    { containers: pod.spec.initContainers ?? [], starts: planned.initContainersToStart, isMeant: isSidecar },
    { containers: pod.spec.containers, starts: planned.containersToStart, isMeant: () => true },
  ];
  for (const { containers, starts, isMeant } of lists) {
    for (const [index, container] of containers.entries()) {
      const status = findContainerStatus(podStatus, container.name);
      if (status?.state !== 'running' || !(status.id in outdated) || !isMeant(container)) continue;
      if (actions.containersToKill.some(({ containerID }) => containerID === status.id)) continue;
      const resize = containerResize({ resources: outdated[status.id] ?? {} }, container);
      if (refused.has(status.id) || resize?.restart === true) restart(container.name, status.id, index, starts);
      else containersToResize.push({ containerID: status.id, name: container.name, changes: resize?.changes ?? [] });
    }
  }
  return { actions: planned, containersToResize };
}
