import type { Pod } from '../../api/types.ts';
import { containerHash } from '../container/container-hash.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/**
 * Names of the containers that run by the pod's status and not by its spec: the manifest changed under the same UID, and what it
 * says is not in place yet, or not in the status.
 */
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
