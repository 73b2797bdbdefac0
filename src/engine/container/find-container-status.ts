import type { RuntimeContainerStatus, RuntimePodStatus } from './runtime-pod-status.ts';

/** The newest instance of a container in the runtime. kubelet: container/runtime.go FindContainerStatusByName */
export function findContainerStatus(podStatus: RuntimePodStatus, name: string): RuntimeContainerStatus | undefined {
  return podStatus.containerStatuses.find((status) => status.name === name);
}
