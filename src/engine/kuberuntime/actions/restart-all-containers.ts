import type { Container, Pod } from '../../../api/types.ts';
import { restartsAllAfterExit } from '../../../api/values/restart-rules.ts';
import {
  findContainerStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../../container/runtime-pod-status.ts';
import type { ContainerToReset } from './pod-actions.ts';

/**
 * True while a container of the pod has exited with a code that restarts all containers. The container is removed
 * last, so an interrupted restart goes on. kubelet: container/helpers.go ShouldAllContainersRestart
 */
export function areAllContainersRestarting({ spec }: Pod, podStatus: RuntimePodStatus): boolean {
  return [...(spec.initContainers ?? []), ...spec.containers].some((container) => {
    const newest = findContainerStatus(podStatus, container.name);
    return newest !== undefined && hasCausedIt(container, newest);
  });
}

/**
 * Every container of the pod, in the order of its removal: those that caused the restart come last. kubelet:
 * kuberuntime_manager.go computePodActions
 */
export function containersToReset({ spec }: Pod, { containerStatuses }: RuntimePodStatus): ContainerToReset[] {
  const instances = [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) =>
    containerStatuses
      .filter(({ name, isLost }) => name === container.name && isLost !== true)
      .map((status) => ({ status, isCause: hasCausedIt(container, status) })),
  );
  const ordered = [...instances.filter(({ isCause }) => !isCause), ...instances.filter(({ isCause }) => isCause)];
  return ordered.map(({ status: { id, name, restartCount, state } }) => {
    return { containerID: id, name, restartCount, kill: state !== 'exited' };
  });
}

const hasCausedIt = (container: Container, { state, exitCode }: RuntimeContainerStatus): boolean =>
  state === 'exited' && restartsAllAfterExit(container, exitCode);
