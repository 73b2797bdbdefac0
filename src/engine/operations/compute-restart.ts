import type { Container, Pod } from '../../api/types.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/** The containers that a restart of the pod, or of `container`, concerns: regular ones and sidecars. */
export function restartable({ spec }: Pod, container?: string): Container[] {
  const all = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers];
  return container === undefined ? all : all.filter(({ name }) => name === container);
}

/**
 * Returns the ids of the running containers and sidecars that a restart stops, or only that of `container`. Returns
 * undefined if the pod has no such container.
 */
export function computeRestart(pod: Pod, status: RuntimePodStatus, container?: string): string[] | undefined {
  const names = restartable(pod, container).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return status.containerStatuses
    .filter(({ name, state }) => state === 'running' && names.includes(name))
    .map(({ id }) => id);
}
