import type { ContainerStatus, Pod, PodStatus } from '../../api/types.ts';
import { isSidecar } from '../kuberuntime/sidecars.ts';
import { terminatedUnseen } from './container-status-unknown.ts';
import { isStaticPod } from './is-static-pod.ts';

/**
 * The last status of a pod whose containers are all gone: whatever started and was not seen ending has ended badly.
 * kubelet: status/status_manager.go TerminatePod
 */
export function terminatePodStatus(pod: Pod, status: PodStatus): PodStatus {
  const { containerStatuses, initContainerStatuses } = status;
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses: terminateStarted(initContainerStatuses) }),
    ...(containerStatuses && hasPodInitialized(pod, status) && { containerStatuses: containerStatuses.map(terminate) }),
    ...(!isStaticPod(pod) && status.phase !== 'Succeeded' && { phase: 'Failed' }),
  };
}

function terminate(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated ? status : { ...status, state: terminatedUnseen('terminated') };
}

/** Init containers after the last one that left Waiting have never been started. At least the first one has. */
function terminateStarted(statuses: readonly ContainerStatus[]): ContainerStatus[] {
  const lastStarted = statuses.findLastIndex(hasLeftWaiting);
  return statuses.map((status, i) => (i <= Math.max(lastStarted, 0) ? terminate(status) : status));
}

function hasLeftWaiting({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting === undefined || lastState?.terminated !== undefined;
}

/** kubelet: status/status_manager.go hasPodInitialized */
function hasPodInitialized(pod: Pod, { containerStatuses = [], initContainerStatuses = [] }: PodStatus): boolean {
  const lastInit = pod.spec.initContainers?.at(-1);
  if (!lastInit) return true;
  if (containerStatuses.some(hasLeftWaiting)) return true;

  const status = initContainerStatuses.find(({ name }) => name === lastInit.name);
  if (isSidecar(lastInit)) return status?.state?.running !== undefined && status.started === true;
  return status?.state?.terminated?.exitCode === 0 || status?.lastState?.terminated?.exitCode === 0;
}
