import type { Container, ContainerState, ContainerStatus } from '../../api/types.ts';
import { formatTime } from '../../api/values/time.ts';
import type { RuntimeContainerStatus } from '../container/runtime-pod-status.ts';
import { reasons } from '../view/reasons.ts';
import { containerResourceStatus } from './resource-statuses.ts';

/**
 * API status of one container instance in the runtime. `oldStatus` is the container's previous status. kubelet:
 * kubelet_pods.go convertContainerStatus
 */
export function convertContainerStatus(
  container: Container,
  runtimeStatus: RuntimeContainerStatus,
  oldStatus: ContainerStatus | undefined,
  { runtimeName, allRestarting }: { runtimeName: string; allRestarting: boolean },
): ContainerStatus {
  const containerID = `${runtimeName}://${runtimeStatus.id}`;
  const lostWhileRunning = runtimeStatus.state === 'unknown' && oldStatus?.state?.running !== undefined;
  return {
    name: runtimeStatus.name,
    state: lostWhileRunning
      ? allRestarting
        ? terminatedToRestart()
        : terminatedUnseen('terminated')
      : convertState(runtimeStatus, containerID),
    lastState: {},
    ready: false,
    restartCount: lostWhileRunning ? oldStatus.restartCount + 1 : runtimeStatus.restartCount,
    image: runtimeStatus.image,
    imageID: runtimeStatus.imageRef,
    containerID,
    ...containerResourceStatus(container, runtimeStatus),
    ...(runtimeStatus.stopSignal !== undefined && { stopSignal: runtimeStatus.stopSignal }),
    ...(runtimeStatus.user && { user: runtimeStatus.user }),
    ...(oldStatus?.volumeMounts && { volumeMounts: oldStatus.volumeMounts }),
  };
}

function convertState(status: RuntimeContainerStatus, containerID: string): ContainerState {
  switch (status.state) {
    case 'running':
      return { running: { startedAt: formatTime(status.startedAt) } };
    case 'exited':
      return {
        terminated: {
          exitCode: status.exitCode,
          ...(status.reason !== '' && { reason: status.reason }),
          ...(status.message !== '' && { message: status.message }),
          ...(status.startedAt !== 0 && { startedAt: formatTime(status.startedAt) }),
          ...(status.finishedAt !== 0 && { finishedAt: formatTime(status.finishedAt) }),
          containerID,
        },
      };
    case 'created':
    case 'unknown':
      return { waiting: {} };
  }
}

/** 128 + SIGKILL, used for an unknown exit code. */
const UNSEEN_EXIT_CODE = 137;

/** State of a container that disappeared before its exit was observed. */
export function terminatedUnseen(when: 'terminated' | 'deleted'): ContainerState {
  const lost = `The container could not be located when the pod was ${when}`;
  return {
    terminated: {
      exitCode: UNSEEN_EXIT_CODE,
      reason: reasons.containerStatusUnknown,
      message: when === 'deleted' ? `${lost}.  The container used to be Running` : lost,
    },
  };
}

/**
 * State of a container that was removed because all containers of the pod restart. Keeps how it exited before, if
 * `state` says so. The kubelet always reports 137.
 */
export function terminatedToRestart({ terminated }: ContainerState = {}): ContainerState {
  const message = 'The container was removed because all containers of the pod restart';
  const reason = reasons.restartingAllContainers;
  return { terminated: { exitCode: UNSEEN_EXIT_CODE, ...terminated, reason, message } };
}
