import type { ContainerStatus, Pod, PodSpec } from '../../api/types.ts';
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
  const { pendingInit, failedInit, pendingSidecar, waiting, running, stopped, succeeded, unknown } = count(
    spec,
    statuses,
  );
  if (failedInit > 0 && spec.restartPolicy === 'Never') return 'Failed';
  if (pendingInit > 0) return 'Pending';
  // A restarting sidecar does not return an initialized pod to Pending.
  if (pendingSidecar > 0 && !hasAnyRegularContainerStarted(spec, statuses)) return 'Pending';
  if (waiting > 0) return 'Pending';
  if (unknown > 0) return 'Pending';
  if (running > 0) return 'Running';
  if (stopped === 0) return 'Pending';

  const allSucceeded = stopped === succeeded;
  // Static pods keep the phase of their restart policy, even when terminated for good.
  if (podIsTerminal && !isStaticPod(pod)) return allSucceeded ? 'Succeeded' : 'Failed';
  if (spec.restartPolicy === 'Never') return allSucceeded ? 'Succeeded' : 'Failed';
  return spec.restartPolicy === 'OnFailure' && allSucceeded ? 'Succeeded' : 'Running';
}

interface Counts {
  /** Init containers other than sidecars. */
  pendingInit: number;
  failedInit: number;
  pendingSidecar: number;
  /** Regular containers and sidecars. */
  waiting: number;
  running: number;
  unknown: number;
  /** Regular containers. */
  stopped: number;
  succeeded: number;
}

type Count = keyof Counts;

function count(spec: PodSpec, statuses: readonly ContainerStatus[]): Counts {
  const counts: Counts = {
    pendingInit: 0,
    failedInit: 0,
    pendingSidecar: 0,
    waiting: 0,
    running: 0,
    unknown: 0,
    stopped: 0,
    succeeded: 0,
  };
  const add = (keys: readonly Count[]) => {
    for (const key of keys) counts[key]++;
  };
  const statusOf = (name: string) => statuses.find((status) => status.name === name);
  for (const container of spec.initContainers ?? []) {
    const status = statusOf(container.name);
    add(isSidecar(container) ? countsOfSidecar(status) : countsOfInitContainer(status));
  }
  for (const { name } of spec.containers) add(countsOfContainer(statusOf(name)));
  return counts;
}

function countsOfInitContainer({ state, lastState }: Partial<ContainerStatus> = {}): Count[] {
  const ended = state?.terminated ?? (state?.waiting && !state.running ? lastState?.terminated : undefined);
  if (state?.running || !ended) return ['pendingInit'];
  return ended.exitCode === 0 ? [] : ['failedInit'];
}

function countsOfSidecar(status: ContainerStatus | undefined): Count[] {
  if (!status) return ['unknown'];
  const { state = {}, lastState, started } = status;
  if (state.running) return started === true ? ['running'] : ['running', 'pendingSidecar'];
  if (state.terminated) return [];
  if (!state.waiting) return ['unknown', 'pendingSidecar'];
  return lastState?.terminated ? [] : ['waiting', 'pendingSidecar'];
}

function countsOfContainer({ state, lastState }: Partial<ContainerStatus> = {}): Count[] {
  if (state?.running) return ['running'];
  if (state?.terminated) return state.terminated.exitCode === 0 ? ['stopped', 'succeeded'] : ['stopped'];
  if (!state?.waiting) return ['unknown'];
  return lastState?.terminated ? ['stopped'] : ['waiting'];
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
