import type { ContainerStatus, PodStatus } from '../types.ts';

/**
 * The id behind `containerd://` of a status. Empty if the text has no type or two. kubelet: container/runtime.go
 * ContainerID ParseString
 */
export function runtimeContainerID(containerID = ''): string {
  const [, id = '', ...others] = containerID.replaceAll(/^"+|"+$/g, '').split('://');
  return others.length === 0 ? id : '';
}

/** Statuses of the init containers, then of the regular ones. Without ephemeral ones. */
export const initAndRegularStatuses = (status: PodStatus = {}): ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

/** Statuses of the init, regular and ephemeral containers. */
export const allContainerStatuses = (status: PodStatus = {}): ContainerStatus[] => [
  ...initAndRegularStatuses(status),
  ...(status.ephemeralContainerStatuses ?? []),
];
