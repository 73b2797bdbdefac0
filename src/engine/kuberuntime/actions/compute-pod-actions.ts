import type { Container, Pod } from '../../../api/types.ts';
import { restartPolicyOf, restartsAfterExit, restartsAfterProbe } from '../../../api/values/restart-rules.ts';
import { isRegularInit } from '../../../api/values/sidecars.ts';
import { containerHash } from '../../container/container-hash.ts';
import type { ProbeResults } from '../../container/probe-results.ts';
import {
  findContainerStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../../container/runtime-pod-status.ts';
import { computeInitContainerActions } from './compute-init-container-actions.ts';
import { type ContainerKillReason, type ContainerToKill, killUnknown, type PodActions } from './pod-actions.ts';
import { podSandboxChanged } from './pod-sandbox-changed.ts';
import { areAllContainersRestarting, containersToReset } from './restart-all-containers.ts';
import { shouldContainerBeRestarted } from './should-container-be-restarted.ts';

/**
 * Computes the actions that bring the pod closer to its spec. `allRestarting`: the condition
 * AllContainersRestarting. kubelet: kuberuntime_manager.go computePodActions
 */
export function computePodActions(
  pod: Pod,
  podStatus: RuntimePodStatus,
  probes: ProbeResults,
  allRestarting = areAllContainersRestarting(pod, podStatus),
): PodActions {
  const { changed, attempt, sandboxID } = podSandboxChanged(pod, podStatus);
  const nothing: PodActions = {
    killPod: changed,
    createSandbox: changed,
    sandboxID,
    attempt,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: [],
    containersToReset: [],
  };
  if (allRestarting) return { ...nothing, containersToReset: containersToReset(pod, podStatus) };
  if (changed) return { ...nothing, ...computeFreshStart(pod, podStatus, attempt) };

  const init = computeInitContainerActions(pod, podStatus, probes);
  const actions = { ...nothing, ...init.actions };
  // Ephemeral containers also start before the pod is initialized.
  if (!actions.killPod) actions.ephemeralContainersToStart = ephemeralContainersToStart(pod, podStatus);
  if (!init.initialized) return actions;

  const { keepCount, containersToStart, containersToKill } = computeContainerActions(pod, podStatus, probes);
  const finished = keepCount === 0 && containersToStart.length === 0;
  return {
    ...actions,
    killPod: finished,
    // Sidecars do not keep a finished pod running.
    initContainersToStart: finished ? [] : actions.initContainersToStart,
    containersToStart,
    ephemeralContainersToStart: finished ? [] : actions.ephemeralContainersToStart,
    containersToKill: [...actions.containersToKill, ...containersToKill],
  };
}

/**
 * Ephemeral containers are never restarted. One that was created but never started is created again, because the agent
 * or the runtime exited in between. The kubelet leaves it.
 */
function ephemeralContainersToStart({ spec }: Pod, podStatus: RuntimePodStatus): number[] {
  return (spec.ephemeralContainers ?? []).flatMap(({ name }, index) => {
    const status = findContainerStatus(podStatus, name);
    return status === undefined || status.state === 'created' ? [index] : [];
  });
}

/** The containers to start in a new sandbox, or none if the pod has finished. */
function computeFreshStart(pod: Pod, podStatus: RuntimePodStatus, attempt: number): Partial<PodActions> {
  const done = { createSandbox: false };
  const { restartPolicy, initContainers = [], containers } = pod.spec;
  if (restartPolicy === 'Never' && attempt !== 0 && hasBegun(pod, podStatus)) return done;

  const containersToStart = containers.flatMap((container, index) =>
    hasEndedForGood(container, pod, findContainerStatus(podStatus, container.name)) ? [] : [index],
  );
  if (containersToStart.length === 0 && hasBeenInitialized(pod, podStatus)) return done;
  return initContainers.length === 0 ? { containersToStart } : { initContainersToStart: [0] };
}

/**
 * True if a pod with restartPolicy Never stays without a sandbox: one of its containers has run, or an init container
 * failed. Before that, a new sandbox is created under every policy. The kubelet lets the pod wait forever once any
 * container was created, for example if the power failed between its init containers and the others.
 */
function hasBegun({ spec }: Pod, { containerStatuses }: RuntimePodStatus): boolean {
  return containerStatuses.some(({ name, state, exitCode }) => {
    if (state === 'created') return false;
    const hasSucceeded = state === 'exited' && exitCode === 0;
    return spec.containers.some((container) => container.name === name) || (isRegularInit(spec, name) && !hasSucceeded);
  });
}

/** Beyond OnFailure only a container that the runtime has lost does not run again in a new sandbox. */
function hasEndedForGood(container: Container, { spec }: Pod, status: RuntimeContainerStatus | undefined): boolean {
  if (status?.state !== 'exited' || restartsAfterExit(container, spec, status.exitCode)) return false;
  return status.isLost === true || restartPolicyOf(container, spec) === 'OnFailure';
}

function hasBeenInitialized(pod: Pod, podStatus: RuntimePodStatus): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findContainerStatus(podStatus, name)?.state;
    return state !== undefined && state !== 'unknown';
  });
}

function computeContainerActions(pod: Pod, podStatus: RuntimePodStatus, probes: ProbeResults) {
  const containersToStart: number[] = [];
  const containersToKill: ContainerToKill[] = [];
  let keepCount = 0;

  for (const [index, container] of pod.spec.containers.entries()) {
    const status = findContainerStatus(podStatus, container.name);
    if (status?.state !== 'running') {
      if (!shouldContainerBeRestarted(container, pod, podStatus)) continue;
      containersToStart.push(index);
      if (status?.state === 'unknown') containersToKill.push(killUnknown('Container', status));
      continue;
    }

    const cause = causeToKill(containerHash(container), status, probes);
    if (!cause) {
      keepCount++;
      continue;
    }
    // A changed definition is started under every restart policy.
    const restart = cause.reason === '' || restartsAfterProbe(container, pod.spec);
    if (restart) containersToStart.push(index);
    const message = `Container ${container.name} ${cause.why}${restart ? ', will be restarted' : ''}`;
    containersToKill.push({ containerID: status.id, name: container.name, message, reason: cause.reason });
  }
  return { keepCount, containersToStart, containersToKill };
}

function causeToKill(
  hash: number,
  status: RuntimeContainerStatus,
  probes: ProbeResults,
): { why: string; reason: ContainerKillReason } | undefined {
  if (status.hash !== hash) return { why: 'definition changed', reason: '' };
  if (probes.liveness.get(status.id) === 'failure') return { why: 'failed liveness probe', reason: 'LivenessProbe' };
  if (probes.startup.get(status.id) === 'failure') return { why: 'failed startup probe', reason: 'StartupProbe' };
  return undefined;
}
