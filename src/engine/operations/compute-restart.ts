import type { Pod } from '../../api/types.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/**
 * Returns the ids of the running containers and sidecars that a restart stops, or only that of `container`. Returns
 * undefined if the pod has no such container.
 */
export function computeRestart({ spec }: Pod, status: RuntimePodStatus, container?: string): string[] | undefined {
  const restartable = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers].map(({ name }) => name);
  const names = container === undefined ? restartable : restartable.filter((name) => name === container);
  if (names.length === 0) return undefined;
  return status.containerStatuses
    .filter(({ name, state }) => state === 'running' && names.includes(name))
    .map(({ id }) => id);
}
