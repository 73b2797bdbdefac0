import type { ContainerStatus, PodStatus } from '../types.ts';

/** Statuses of the init containers, then of the regular ones. Ephemeral ones are left out. */
export const initAndRegularStatuses = (status: PodStatus = {}): ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

/** Statuses of the init, regular and ephemeral containers. */
export const allContainerStatuses = (status: PodStatus = {}): ContainerStatus[] => [
  ...initAndRegularStatuses(status),
  ...(status.ephemeralContainerStatuses ?? []),
];
