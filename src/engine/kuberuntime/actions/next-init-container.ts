import type { Pod } from '../../../api/types.ts';
import {
  findContainerStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../../container/runtime-pod-status.ts';

/** Progress of the init phase of a pod without sidecars. Indexes are those of `spec.initContainers`. */
export type InitProgress =
  | { state: 'done' }
  /** An init container is running. */
  | { state: 'wait' }
  | { state: 'next'; index: number; failed?: RuntimeContainerStatus };

/**
 * The next init container to run. The last one with a status decides, because earlier ones may have been removed from
 * the runtime. kubelet: kuberuntime_container.go findNextInitContainerToRun
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
  // The kernel may have killed a process other than the main one. Then the exit code is 0.
  if (reason === 'OOMKilled') return true;
  return state === 'unknown' || (state === 'exited' && exitCode !== 0);
}
