import type { Pod } from '../../../api/types.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import { findContainerStatus, type RuntimePodStatus } from '../../container/runtime-pod-status.ts';
import type { PodActions } from './pod-actions.ts';

/**
 * Adds the restarts that an operator asked for to the actions of a sync. `ids`: containers that must end and start
 * again. One that ended already starts by its restartPolicy, which is Always.
 */
export function computeRestartActions(
  pod: Pod,
  podStatus: RuntimePodStatus,
  actions: PodActions,
  ids: readonly string[],
): PodActions {
  if (ids.length === 0 || actions.killPod) return actions;
  const planned = {
    ...actions,
    containersToKill: [...actions.containersToKill],
    containersToStart: [...actions.containersToStart],
    initContainersToStart: [...actions.initContainersToStart],
  };
  const lists = [
    { containers: pod.spec.initContainers ?? [], starts: planned.initContainersToStart, isMeant: isSidecar },
    { containers: pod.spec.containers, starts: planned.containersToStart, isMeant: () => true },
  ];
  for (const { containers, starts, isMeant } of lists) {
    for (const [index, container] of containers.entries()) {
      const status = findContainerStatus(podStatus, container.name);
      if (status?.state !== 'running' || !ids.includes(status.id) || !isMeant(container)) continue;
      if (actions.containersToKill.some(({ containerID }) => containerID === status.id)) continue;
      const message = `Container ${container.name} is restarted by request`;
      planned.containersToKill.push({ containerID: status.id, name: container.name, message, reason: '' });
      starts.push(index);
      starts.sort((a, b) => a - b);
    }
  }
  return planned;
}
