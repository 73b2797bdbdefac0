import type { Container, ContainerStatus, Pod, PodSpec } from '../../api/types.ts';
import { reasons } from '../view/reasons.ts';
import { isStaticPod } from '../../api/values/config-annotations.ts';
import { restartPolicyOf, restartsAfterExit } from '../../api/values/restart-rules.ts';
import { isSidecar } from '../../api/values/sidecars.ts';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/**
 * Phase of a pod by the statuses of its init and regular containers. `podIsTerminal`: no container of it will be
 * started again. `isInitialized`: a regular container was started in the newest sandbox. kubelet: kubelet_pods.go
 * getPhase
 */
export function getPodPhase(
  pod: { metadata?: Partial<Pod['metadata']>; spec: PodSpec },
  statuses: readonly ContainerStatus[],
  podIsTerminal: boolean,
  isInitialized: boolean,
): PodPhase {
  const { spec } = pod;
  const found = progressOf(spec, statuses);
  if (found.has('failedInit')) return 'Failed';
  if (found.has('pendingInit')) return 'Pending';
  // A restarting sidecar does not return an initialized pod to Pending.
  if (found.has('pendingSidecar') && !isInitialized) return 'Pending';
  if (found.has('waiting')) return 'Pending';
  if (found.has('unknown')) return 'Pending';
  if (found.has('running')) return 'Running';
  if (!found.has('succeeded') && !found.has('unsuccessful')) return 'Pending';

  const allSucceeded = !found.has('unsuccessful');
  // Static pods keep the phase of their restart policy, even when terminated permanently.
  if (podIsTerminal && !isStaticPod(pod)) return allSucceeded ? 'Succeeded' : 'Failed';
  if (found.has('restarting')) return 'Running';
  return allSucceeded ? 'Succeeded' : 'Failed';
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
  /** Regular containers that have exited. */
  | 'succeeded'
  | 'unsuccessful'
  | 'restarting';

function progressOf(spec: PodSpec, statuses: readonly ContainerStatus[]): ReadonlySet<Progress> {
  const statusOf = (name: string) => statuses.find((status) => status.name === name);
  const ofInit = (container: Container): Progress[] => {
    const status = statusOf(container.name);
    return isSidecar(container) ? progressOfSidecar(status) : progressOfInitContainer(container, spec, status);
  };
  const ofRegular = (container: Container): Progress[] =>
    progressOfContainer(container, spec, statusOf(container.name));
  return new Set([...(spec.initContainers ?? []).flatMap(ofInit), ...spec.containers.flatMap(ofRegular)]);
}

function progressOfInitContainer(
  container: Container,
  spec: PodSpec,
  { state, lastState }: Partial<ContainerStatus> = {},
): Progress[] {
  const ended = state?.terminated ?? (state?.waiting && !state.running ? lastState?.terminated : undefined);
  if (state?.running || !ended || ended.reason === reasons.restartingAllContainers) return ['pendingInit'];
  return ended.exitCode === 0 || restartsAfterExit(container, spec, ended.exitCode) ? [] : ['failedInit'];
}

function progressOfSidecar(status: ContainerStatus | undefined): Progress[] {
  if (!status) return ['unknown'];
  const { state = {}, lastState, started } = status;
  if (state.running) return started === true ? ['running'] : ['running', 'pendingSidecar'];
  if (state.terminated) return [];
  if (!state.waiting) return ['unknown', 'pendingSidecar'];
  return lastState?.terminated ? [] : ['waiting', 'pendingSidecar'];
}

function progressOfContainer(
  container: Container,
  spec: PodSpec,
  { state, lastState }: Partial<ContainerStatus> = {},
): Progress[] {
  if (state?.running) return ['running'];
  if (state?.terminated) return progressAfterExit(container, spec, state.terminated.exitCode);
  if (!state?.waiting) return ['unknown'];
  if (!lastState?.terminated) return ['waiting'];
  const { exitCode, reason } = lastState.terminated;
  const isRestarting =
    reason === reasons.restartingAllContainers ||
    // It waits for a start, although its last run completed. The kubelet calls the pod failed.
    restartPolicyOf(container, spec) === 'OnFailure' ||
    restartsAfterExit(container, spec, exitCode);
  return isRestarting ? ['unsuccessful', 'restarting'] : ['unsuccessful'];
}

function progressAfterExit(container: Container, spec: PodSpec, exitCode: number): Progress[] {
  const end = exitCode === 0 ? 'succeeded' : 'unsuccessful';
  return restartsAfterExit(container, spec, exitCode) ? [end, 'restarting'] : [end];
}
