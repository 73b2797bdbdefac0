import type { ContainerState, ContainerStatus } from '../../api/types.ts';
import { formatTime } from '../../api/values/time.ts';
import type { RuntimeContainerStatus } from '../container/runtime-pod-status.ts';
import { reasons } from '../view/reasons.ts';

/**
 * One instance of a container in the runtime as the API shows it. `oldStatus` is the status of that container computed
 * last time. kubelet: kubelet_pods.go convertContainerStatus
 */
export function convertContainerStatus(
  runtimeStatus: RuntimeContainerStatus,
  oldStatus: ContainerStatus | undefined,
  runtimeName: string,
): ContainerStatus {
  const containerID = `${runtimeName}://${runtimeStatus.id}`;
  const lostWhileRunning = runtimeStatus.state === 'unknown' && oldStatus?.state?.running !== undefined;
  return {
    name: runtimeStatus.name,
    state: lostWhileRunning ? terminatedUnseen('terminated') : convertState(runtimeStatus, containerID),
    lastState: {},
    ready: false,
    restartCount: lostWhileRunning ? oldStatus.restartCount + 1 : runtimeStatus.restartCount,
    image: runtimeStatus.image,
    imageID: runtimeStatus.imageRef,
    containerID,
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

/** 128 + SIGKILL: stands for an exit code that nobody saw. */
const UNSEEN_EXIT_CODE = 137;

/** State of a container that ended without a trace. */
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
