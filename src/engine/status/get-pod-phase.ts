import type { Container, ContainerStatus, Pod, PodSpec } from '../../api/types.ts';
import { isStaticPod } from '../../api/values/config-annotations.ts';
import { isSidecar } from '../../api/values/sidecars.ts';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/**
 * Phase of a pod by the statuses of its init and regular containers. `podIsTerminal`: no container of it will be
 * started again. kubelet: kubelet_pods.go getPhase
 */
export function getPodPhase(
  pod: { metadata?: Partial<Pod['metadata']>; spec: PodSpec },
  statuses: readonly ContainerStatus[],
  podIsTerminal: boolean,
): PodPhase {
  const { spec } = pod;
  const found = progressOf(spec, statuses);
  if (found.has('failedInit') && spec.restartPolicy === 'Never') return 'Failed';
  if (found.has('pendingInit')) return 'Pending';
  // A restarting sidecar does not return an initialized pod to Pending.
  if (found.has('pendingSidecar') && !hasAnyRegularContainerStarted(spec, statuses)) return 'Pending';
  if (found.has('waiting')) return 'Pending';
  if (found.has('unknown')) return 'Pending';
  if (found.has('running')) return 'Running';
  if (!found.has('succeeded') && !found.has('unsuccessful')) return 'Pending';

  const allSucceeded = !found.has('unsuccessful');
  // Static pods keep the phase of their restart policy, even when terminated for good.
  if (podIsTerminal && !isStaticPod(pod)) return allSucceeded ? 'Succeeded' : 'Failed';
  if (spec.restartPolicy === 'Never') return allSucceeded ? 'Succeeded' : 'Failed';
  return spec.restartPolicy === 'OnFailure' && allSucceeded ? 'Succeeded' : 'Running';
}

/** Progress of some container of the pod. */
type Progress =
  /** Init containers other than sidecars. */
  | 'pendingInit'
  | 'failedInit'
  | 'pendingSidecar'
  /** Regular containers and sidecars. */
  | 'waiting'
  | 'running'
  | 'unknown'
  /** Regular containers that have ended. */
  | 'succeeded'
  | 'unsuccessful';

function progressOf(spec: PodSpec, statuses: readonly ContainerStatus[]): ReadonlySet<Progress> {
  const statusOf = (name: string) => statuses.find((status) => status.name === name);
  const ofInit = (container: Container): Progress[] => {
    const status = statusOf(container.name);
    return isSidecar(container) ? progressOfSidecar(status) : progressOfInitContainer(status);
  };
  const ofRegular = spec.containers.map(({ name }) => progressOfContainer(statusOf(name)));
  return new Set([...(spec.initContainers ?? []).flatMap(ofInit), ...ofRegular]);
}

function progressOfInitContainer({ state, lastState }: Partial<ContainerStatus> = {}): Progress[] {
  const ended = state?.terminated ?? (state?.waiting && !state.running ? lastState?.terminated : undefined);
  if (state?.running || !ended) return ['pendingInit'];
  return ended.exitCode === 0 ? [] : ['failedInit'];
}

function progressOfSidecar(status: ContainerStatus | undefined): Progress[] {
  if (!status) return ['unknown'];
  const { state = {}, lastState, started } = status;
  if (state.running) return started === true ? ['running'] : ['running', 'pendingSidecar'];
  if (state.terminated) return [];
  if (!state.waiting) return ['unknown', 'pendingSidecar'];
  return lastState?.terminated ? [] : ['waiting', 'pendingSidecar'];
}

function progressOfContainer({ state, lastState }: Partial<ContainerStatus> = {}): Progress {
  if (state?.running) return 'running';
  if (state?.terminated) return state.terminated.exitCode === 0 ? 'succeeded' : 'unsuccessful';
  if (!state?.waiting) return 'unknown';
  return lastState?.terminated ? 'unsuccessful' : 'waiting';
}

/**
 * True if a regular container runs or ended, so that the pod was initialized. A container that waits for a restart does
 * not count. kubelet: container/helpers.go HasAnyRegularContainerStarted
 */
export function hasAnyRegularContainerStarted(
  spec: Pick<PodSpec, 'containers'>,
  statuses: readonly ContainerStatus[],
): boolean {
  const regular = new Set(spec.containers.map(({ name }) => name));
  return statuses.some(({ name, state }) => regular.has(name) && (state?.running ?? state?.terminated) !== undefined);
}
