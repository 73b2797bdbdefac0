import type { RuntimeContainerStatus } from '../../container/runtime-pod-status.ts';

/** Why one container is killed while its pod lives on; empty: its definition changed. */
export type ContainerKillReason = '' | 'StartupProbe' | 'LivenessProbe' | 'Unknown';

export interface ContainerToKill {
  containerID: string;
  name: string;
  /** For the Killing event. */
  message: string;
  reason: ContainerKillReason;
}

/**
 * What one sync of a pod is going to do. Plain data, kubelet's names; indexes are into the lists of the pod spec.
 * kubelet: kuberuntime_manager.go podActions
 */
export interface PodActions {
  /** Stop all containers and every sandbox; nothing of `containersToKill` counts then. */
  killPod: boolean;
  /** Create a sandbox, after the kill. */
  createSandbox: boolean;
  /** The sandbox to use, or the one to be replaced; empty when there is none. */
  sandboxID: string;
  /** Attempt of the sandbox to use or to create. */
  attempt: number;
  /** Only in pods without sidecars: the one init container to start. */
  nextInitContainerToStart: number | null;
  /** Only in pods with sidecars: init containers to start, in this order. */
  initContainersToStart: number[];
  containersToStart: number[];
  containersToKill: ContainerToKill[];
}

/** What is to do in the init phase of a pod. */
export interface InitActions {
  /** Regular containers are looked at only then. */
  initialized: boolean;
  actions: Partial<PodActions>;
}

/** A container in unknown state may be running: it is killed first, lest two instances of it run. */
export function killUnknown(kind: 'Container' | 'Init container', status: RuntimeContainerStatus): ContainerToKill {
  return {
    containerID: status.id,
    name: status.name,
    message: `${kind} is in "${status.state}" state, try killing it before restart`,
    reason: 'Unknown',
  };
}
