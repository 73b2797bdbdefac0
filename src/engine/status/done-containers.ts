import type { Container, Pod } from '../../api/types.ts';
import { isRegularInit, sidecarsOf } from '../../api/values/sidecars.ts';
import {
  findContainerStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../container/runtime-pod-status.ts';
import { isInitContainerFailed, restartsFailedInit } from '../kuberuntime/actions/compute-init-container-actions.ts';
import { areAllContainersRestarting } from '../kuberuntime/actions/restart-all-containers.ts';
import { shouldContainerBeRestarted } from '../kuberuntime/actions/should-container-be-restarted.ts';

/** A container that has exited and will not restart in its pod. */
export interface DoneContainer {
  /** As the runtime last described it. */
  status: RuntimeContainerStatus;
  /** The sandbox of an init container, which runs again in another one. Undefined for other containers. */
  sandboxID?: string;
}

/**
 * The containers of the pod that are done. None while all restart. `podStatus` has those of `before`.
 * `isPastDeadline`: nothing of the pod starts again.
 */
export function computeDoneContainers(
  pod: Pod,
  podStatus: RuntimePodStatus,
  before: readonly DoneContainer[],
  isPastDeadline: boolean,
): DoneContainer[] {
  if (!isPastDeadline && areAllContainersRestarting(pod, podStatus)) return [];
  const sandboxID = podStatus.sandboxStatuses[0]?.id ?? '';
  const sidecars = sidecarsOf(pod.spec);
  const ended = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap((container) => {
    const status = findContainerStatus(podStatus, container.name);
    if (status?.state !== 'exited') return [];
    const known = before.find((one) => one.status.id === status.id);
    const isInit = isRegularInit(pod.spec, container.name);
    // What the runtime enforced is no part of the record. It has bigints, which JSON cannot write.
    const kept = { ...status };
    delete kept.resources;
    return [{ container, done: known ?? { status: kept, ...(isInit && { sandboxID }) } }];
  });
  const isDone = (container: Container, end: RuntimeContainerStatus): boolean =>
    isRegularInit(pod.spec, container.name)
      ? !isInitContainerFailed(end) || !restartsFailedInit(container, pod.spec, end)
      : !sidecars.includes(container) && !shouldContainerBeRestarted(container, pod, podStatus);
  const done = ended.filter(({ container, done: { status } }) => isDone(container, status)).map((one) => one.done);
  return isPastDeadline || isPodDone(pod, done) ? ended.map((one) => one.done) : done;
}

/** True if no container of the pod restarts: all have exited, or an init container failed permanently. */
export function isPodDone({ spec }: Pod, done: readonly DoneContainer[]): boolean {
  const names = new Set(done.map(({ status }) => status.name));
  const hasFailedInit = done.some(({ status }) => isRegularInit(spec, status.name) && isInitContainerFailed(status));
  return hasFailedInit || spec.containers.every(({ name }) => names.has(name));
}

/**
 * The status with the done containers that the runtime no longer has, so that they do not start again. The runtime may
 * still have earlier instances, such as one that was created and never started.
 */
export function withDoneContainers(podStatus: RuntimePodStatus, done: readonly DoneContainer[]): RuntimePodStatus {
  const [newest] = podStatus.sandboxStatuses;
  const lost = done.filter(
    ({ status, sandboxID = newest?.id }) =>
      isEarlier(findContainerStatus(podStatus, status.name), status) &&
      (newest === undefined || newest.id === sandboxID),
  );
  if (lost.length === 0) return podStatus;
  return {
    ...podStatus,
    containerStatuses: [
      ...lost.map(({ status }) => ({ ...status, isLost: true as const })),
      ...podStatus.containerStatuses,
    ],
  };
}

function isEarlier(found: RuntimeContainerStatus | undefined, done: RuntimeContainerStatus): boolean {
  if (found === undefined || found.restartCount < done.restartCount) return true;
  return found.restartCount === done.restartCount && found.createdAt < done.createdAt;
}
