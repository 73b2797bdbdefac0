import type { RuntimeContainerStatus } from '../../container/runtime-pod-status.ts';

/** Reason to kill one container of a running pod. Empty if its definition changed. */
export type ContainerKillReason = '' | 'StartupProbe' | 'LivenessProbe' | 'Unknown';

export interface ContainerToKill {
  containerID: string;
  name: string;
  /** Message of the Killing event. */
  message: string;
  reason: ContainerKillReason;
}

/**
 * Actions of one sync of a pod, as plain data with the kubelet's names. Indexes are those of the lists in the pod spec.
 * kubelet: kuberuntime_manager.go podActions
 */
export interface PodActions {
  /** True to stop all containers and sandboxes; `containersToKill` is then ignored. */
  killPod: boolean;
  /** True to create a sandbox after the kill. */
  createSandbox: boolean;
  /** The sandbox to use or to replace. Empty if there is none. */
  sandboxID: string;
  /** Attempt of the sandbox to use or to create. */
  attempt: number;
  /** Init containers to start, in this order. */
  initContainersToStart: number[];
  containersToStart: number[];
  ephemeralContainersToStart: number[];
  containersToKill: ContainerToKill[];
  /** Containers to remove, in this order, before all start again. */
  containersToReset: ContainerToReset[];
}

export interface ContainerToReset {
  containerID: string;
  name: string;
  restartCount: number;
  /** True if it must be killed first. */
  kill: boolean;
}

/** Actions of a pod's init phase. */
export interface InitActions {
  /** Regular containers are started only if true. */
  initialized: boolean;
  actions: Partial<PodActions>;
}

/** Kills a container in an unknown state before its restart, because it may be running. */
export function killUnknown(kind: 'Container' | 'Init container', status: RuntimeContainerStatus): ContainerToKill {
  return {
    containerID: status.id,
    name: status.name,
    message: `${kind} is in "${status.state}" state, try killing it before restart`,
    reason: 'Unknown',
  };
}
