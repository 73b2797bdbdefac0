import type { Container, ContainerState, ContainerStatus, Pod } from '../../api/types.ts';
import { mayRestartAll } from '../../api/values/restart-rules.ts';
import { isRegularInit } from '../../api/values/sidecars.ts';
import { findContainerStatus, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { areAllContainersRestarting } from '../kuberuntime/actions/restart-all-containers.ts';
import { shouldContainerBeRestarted } from '../kuberuntime/actions/should-container-be-restarted.ts';
import { reasons } from '../view/reasons.ts';
import { convertContainerStatus, terminatedToRestart, terminatedUnseen } from './convert-container-status.ts';

/** Why the last attempt to start a container failed. kubelet: reason_cache.go ReasonItem */
export interface StartFailure {
  /** One of reasons.ts, such as `ErrImagePull`. */
  reason: string;
  message: string;
  /** End of the back-off; undefined if there is none. */
  retryAtMonotonic?: number;
}

export interface ContainerStatusesInput {
  pod: Pod;
  podStatus: RuntimePodStatus;
  /** Previous statuses of the same containers. */
  oldStatuses: readonly ContainerStatus[];
  /** Restart counts of an earlier agent, by container name. They count without a previous status. */
  restarts?: Readonly<Record<string, number>>;
  /** By container name. Lacks containers that have started since. */
  startFailures: ReadonlyMap<string, StartFailure>;
  /** Scheme of container ids, such as `containerd`. */
  runtimeName: string;
  /** Decides the status of read-only mounts with `recursiveReadOnly: IfPossible`. */
  supportsRecursiveReadOnly: boolean;
}

export type ContainerKind = 'init' | 'regular' | 'ephemeral';

/**
 * API statuses of a pod's containers of one kind. Init containers are in spec order, all others sorted by name.
 * kubelet: kubelet_pods.go convertToAPIContainerStatuses
 */
export function convertContainerStatuses(kind: ContainerKind, input: ContainerStatusesInput): ContainerStatus[] {
  const { initContainers = [], containers, ephemeralContainers = [] } = input.pod.spec;
  const waitingReason = initContainers.length > 0 ? reasons.podInitializing : reasons.containerCreating;
  const ofKind = { init: initContainers, regular: containers, ephemeral: ephemeralContainers }[kind];
  const statuses = ofKind.map((container) => {
    const oldStatus = input.oldStatuses.find(({ name }) => name === container.name);
    const status =
      fromRuntime(container, oldStatus, input) ?? withoutRuntime(container, oldStatus, waitingReason, input);
    return withStartFailure(kind, container, status, input);
  });
  return kind === 'init' ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The newest instance determines the state, the previous one the last state. */
function fromRuntime(
  container: Container,
  oldStatus: ContainerStatus | undefined,
  { pod, podStatus, runtimeName }: ContainerStatusesInput,
): ContainerStatus | undefined {
  const allRestarting = areAllContainersRestarting(pod, podStatus);
  const [newest, previous] = podStatus.containerStatuses
    .filter((instance) => instance.name === container.name)
    .map((instance) => convertContainerStatus(container, instance, oldStatus, { runtimeName, allRestarting }));
  if (newest === undefined) return undefined;
  if (previous !== undefined) return { ...newest, lastState: previous.state ?? {} };
  return oldStatus === undefined ? newest : { ...newest, ...fromOldStatus(newest, oldStatus) };
}

/** The last state and the restarts of a container whose earlier instances the runtime no longer has. */
function fromOldStatus(
  { containerID, restartCount }: ContainerStatus,
  { containerID: oldID, state = {}, lastState = {}, ...old }: ContainerStatus,
): Pick<ContainerStatus, 'lastState' | 'restartCount'> {
  const isSame = containerID === oldID;
  return {
    lastState: state.terminated && !isSame ? { terminated: state.terminated } : lastState,
    restartCount: Math.max(restartCount, old.restartCount),
  };
}

function withoutRuntime(
  container: Container,
  oldStatus: ContainerStatus | undefined,
  waitingReason: string,
  { pod, podStatus, supportsRecursiveReadOnly, restarts = {} }: ContainerStatusesInput,
): ContainerStatus {
  const isReset = isRemovedToRestart(pod, podStatus, oldStatus);
  if (oldStatus?.state?.terminated && !isReset) return oldStatus;
  const isOver = isRegularInit(pod.spec, container.name) && hasRegularContainerCome(pod, podStatus);

  const lastState = oldStatus?.lastState ?? {};
  const restartCount = oldStatus?.restartCount ?? restarts[container.name] ?? 0;
  const volumeMounts = volumeMountStatuses(container, supportsRecursiveReadOnly);
  const status: ContainerStatus = {
    name: container.name,
    state: isOver ? lostAfterInit() : { waiting: { reason: waitingReason } },
    lastState,
    ready: false,
    restartCount,
    image: container.image ?? '',
    imageID: '',
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
  if (isReset) {
    const state = { waiting: { reason: reasons.restartingAllContainers } };
    const base = oldStatus?.state?.terminated ? oldStatus : status;
    return { ...base, state, lastState: terminatedToRestart(oldStatus?.state), restartCount: restartCount + 1 };
  }
  // It ran and was removed. The last state shows that the pod had left Pending.
  if (isOver || !oldStatus?.state?.running || lastState.terminated) return status;
  return {
    ...status,
    lastState: terminatedUnseen('deleted'),
    restartCount: pod.metadata.deletionTimestamp === undefined ? restartCount + 1 : restartCount,
  };
}

/** True for a container that ran and that a restart of all containers has removed. */
function isRemovedToRestart(pod: Pod, podStatus: RuntimePodStatus, { state }: Partial<ContainerStatus> = {}): boolean {
  if (state?.running === undefined && state?.terminated === undefined) return false;
  // The containers that caused the restart go last.
  return (
    mayRestartAll(pod.spec) && (areAllContainersRestarting(pod, podStatus) || podStatus.containerStatuses.length === 0)
  );
}

/** True if a regular container was created, for which all init containers must have completed. */
function hasRegularContainerCome({ spec }: Pod, podStatus: RuntimePodStatus): boolean {
  return spec.containers.some(({ name }) => {
    const state = findContainerStatus(podStatus, name)?.state;
    return state !== undefined && state !== 'unknown';
  });
}

/** State of an init container of an initialized pod that neither the runtime nor the record has. */
function lostAfterInit(): ContainerState {
  const message = 'The runtime no longer has it, but it must have completed because the pod is initialized';
  return { terminated: { exitCode: 0, reason: reasons.completed, message } };
}

/** A container whose last start failed waits with the failure's reason until the next start. */
function withStartFailure(
  kind: ContainerKind,
  container: Container,
  status: ContainerStatus,
  { pod, podStatus, startFailures }: ContainerStatusesInput,
): ContainerStatus {
  const instance = findContainerStatus(podStatus, container.name);
  if (kind === 'init' && instance?.state === 'exited' && instance.exitCode === 0) return status;
  // An ephemeral container never restarts.
  if (kind === 'ephemeral' && instance?.state === 'exited') return status;
  const failure = startFailures.get(container.name);
  if (!failure || !shouldContainerBeRestarted(container, pod, podStatus)) return status;

  const { reason, message } = failure;
  return {
    ...status,
    state: { waiting: { reason, ...(message !== '' && { message }) } },
    lastState: status.state?.terminated ? status.state : (status.lastState ?? {}),
  };
}

type VolumeMountStatus = NonNullable<ContainerStatus['volumeMounts']>[number];

/** Mounts of a container that has not been created yet. kubelet: kubelet_pods.go convertToAPIContainerStatuses */
function volumeMountStatuses(container: Container, supportsRecursiveReadOnly: boolean): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map(({ name, mountPath, readOnly, recursiveReadOnly }) => {
    if (readOnly !== true) return { name, mountPath };
    const recursive =
      recursiveReadOnly === 'Enabled' || (recursiveReadOnly === 'IfPossible' && supportsRecursiveReadOnly);
    return { name, mountPath, readOnly, recursiveReadOnly: recursive ? 'Enabled' : 'Disabled' };
  });
}
