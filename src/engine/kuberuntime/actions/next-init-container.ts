import type { Pod } from '../../../api/types.ts';
import {
  findContainerStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../../container/runtime-pod-status.ts';

/** Where a pod without sidecars stands in its init phase. Indexes are into `spec.initContainers`. */
export type InitProgress =
  | { state: 'done' }
  /** One of them is running. */
  | { state: 'wait' }
  | { state: 'next'; index: number; failed?: RuntimeContainerStatus };

/**
 * Which init container is to run next. Instances may have been removed from the runtime, so the last one that left a
 * trace decides. kubelet: kuberuntime_container.go findNextInitContainerToRun
 */
export function nextInitContainer(pod: Pod, podStatus: RuntimePodStatus): InitProgress {
  const initContainers = pod.spec.initContainers ?? [];
  if (initContainers.length === 0) return { state: 'done' };

  const anyRegularRunning = pod.spec.containers.some(
    ({ name }) => findContainerStatus(podStatus, name)?.state === 'running',
  );
  if (anyRegularRunning) return { state: 'done' };

  const newestFirst = initContainers
    .map(({ name }, index) => ({ index, status: findContainerStatus(podStatus, name) }))
    .reverse();
  for (const { index, status } of newestFirst) {
    if (status && isInitContainerFailed(status)) return { state: 'next', index, failed: status };
  }
  for (const { index, status } of newestFirst) {
    if (status?.state === 'running') return { state: 'wait' };
    if (status?.state === 'exited') {
      return index === initContainers.length - 1 ? { state: 'done' } : { state: 'next', index: index + 1 };
    }
  }
  return { state: 'next', index: 0 };
}

/** kubelet: kuberuntime/helpers.go isInitContainerFailed */
export function isInitContainerFailed({ reason, state, exitCode }: RuntimeContainerStatus): boolean {
  // A process other than the first one of the container may have been the victim, then the exit code is 0.
  if (reason === 'OOMKilled') return true;
  return state === 'unknown' || (state === 'exited' && exitCode !== 0);
}
