import type { Pod } from '../../../api/types.ts';
import type { RuntimePodStatus } from '../../container/runtime-pod-status.ts';
import { addRestarts, keptContainers } from './add-restarts.ts';
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
  if (ids.length === 0) return actions;
  const restarts = keptContainers(pod, podStatus, actions).filter(({ containerID }) => ids.includes(containerID));
  return addRestarts(actions, restarts, (name) => `Container ${name} is restarted by request`);
}
