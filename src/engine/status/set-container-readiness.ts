import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/types.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import { containersReadyCondition, readyCondition } from './generate-conditions.ts';

/**
 * Applies a readiness probe result: sets the container's `ready` and the pod's Ready and ContainersReady. Returns
 * undefined if nothing changes. kubelet: status/status_manager.go SetContainerReadiness
 */
export function setContainerReadiness(
  pod: Pod,
  status: PodStatus,
  containerID: string,
  ready: boolean,
): PodStatus | undefined {
  const next = patchContainer(status, containerID, { ready });
  if (!next) return undefined;

  const { conditions = [], phase } = next;
  const containersReady = containersReadyCondition(pod.spec, initAndRegularStatuses(next), phase);
  const podReady = readyCondition(pod.spec, containersReady, conditions);
  return { ...next, conditions: [podReady, containersReady].reduce(replaceOrAppend, conditions) };
}

/** Applies a startup probe result. The next sync sets the conditions. kubelet: SetContainerStartup */
export function setContainerStartup(status: PodStatus, containerID: string, started: boolean): PodStatus | undefined {
  return patchContainer(status, containerID, { started });
}

function patchContainer(
  status: PodStatus,
  containerID: string,
  patch: Partial<Pick<ContainerStatus, 'ready' | 'started'>>,
): PodStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status;
  const current = initAndRegularStatuses(status).find((found) => found.containerID === containerID);
  if (!current) return undefined;
  const patched = { ...current, ...patch };
  if (patched.ready === current.ready && patched.started === current.started) return undefined;

  const apply = (statuses: ContainerStatus[]) => statuses.map((found) => (found === current ? patched : found));
  return {
    ...status,
    ...(status.initContainerStatuses && { initContainerStatuses: apply(initContainerStatuses) }),
    ...(status.containerStatuses && { containerStatuses: apply(containerStatuses) }),
  };
}

function replaceOrAppend(conditions: PodCondition[], condition: PodCondition): PodCondition[] {
  const index = conditions.findIndex(({ type }) => type === condition.type);
  return index < 0 ? [...conditions, condition] : conditions.with(index, condition);
}
