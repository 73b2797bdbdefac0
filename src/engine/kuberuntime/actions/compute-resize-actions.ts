import type { Container, Pod } from '../../../api/types.ts';
import type { RuntimePodStatus } from '../../container/runtime-pod-status.ts';
import { containerResize } from '../../in-place/container-resize.ts';
import { addRestarts, type KeptContainer, keptContainers } from './add-restarts.ts';
import type { PodActions } from './pod-actions.ts';

/** By container id: the resources of containers that still have those of an earlier revision. */
export type OutdatedResources = Readonly<Record<string, Container['resources']>>;

export interface ContainerToResize {
  containerID: string;
  name: string;
  /** For example `memory limit 64Mi → 128Mi`. Empty if this only repeats an interrupted resize. */
  changes: string[];
}

/** The actions of a sync with a resize. The containers to restart are also in `actions`. */
export interface ResizeActions {
  actions: PodActions;
  containersToResize: ContainerToResize[];
  containersToRestart: Pick<ContainerToResize, 'name' | 'containerID'>[];
}

/**
 * Adds a resize to the actions of a sync. A running container is updated in place, or restarted if its resizePolicy
 * requires it. `refused` contains ids of containers that the runtime cannot update; they are restarted too. kubelet:
 * kuberuntime_manager.go computePodResizeAction
 */
export function computeResizeActions(
  pod: Pod,
  podStatus: RuntimePodStatus,
  actions: PodActions,
  outdated: OutdatedResources,
  refused: ReadonlySet<string>,
): ResizeActions {
  const restarts: KeptContainer[] = [];
  const containersToResize: ContainerToResize[] = [];
  for (const kept of keptContainers(pod, podStatus, actions)) {
    const { container, containerID } = kept;
    if (!(containerID in outdated)) continue;
    const resize = containerResize({ resources: outdated[containerID] ?? {} }, container);
    if (refused.has(containerID) || resize?.restart === true) restarts.push(kept);
    else containersToResize.push({ containerID, name: container.name, changes: resize?.changes ?? [] });
  }
  const planned = addRestarts(actions, restarts, (name) => `Container ${name} resize requires restart`);
  const containersToRestart = restarts.map(({ container: { name }, containerID }) => ({ name, containerID }));
  return { actions: planned, containersToResize, containersToRestart };
}
