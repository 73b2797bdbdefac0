import type { Container, Pod, PodSpec } from '../../../api/types.ts';
import { restartsAfterExit } from '../../../api/values/restart-rules.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import { containerHash } from '../../container/container-hash.ts';
import type { ProbeResults } from '../../container/probe-results.ts';
import {
  findContainerStatus,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
} from '../../container/runtime-pod-status.ts';
import { type ContainerKillReason, type ContainerToKill, type InitActions, killUnknown } from './pod-actions.ts';

/**
 * Actions of the init phase, and later for sidecars. Walks from the last init container to
 * the first. The last one with a status shows the progress. Before it only sidecars are kept running. kubelet:
 * kuberuntime_container.go computeInitContainerActions
 */
export function computeInitContainerActions(pod: Pod, podStatus: RuntimePodStatus, probes: ProbeResults): InitActions {
  const initContainers = pod.spec.initContainers ?? [];
  const lastIndex = initContainers.length - 1;
  if (initContainers.length === 0) return { initialized: true, actions: {} };
  const initContainersToStart: number[] = [];
  const containersToKill: ContainerToKill[] = [];
  let initialized = hasRegularContainerStarted(pod, podStatus);
  let reached = initialized;

  for (const [index, container] of [...initContainers.entries()].reverse()) {
    const status = findContainerStatus(podStatus, container.name);
    if (!isSidecar(container) && reached) continue;
    if (!status) {
      if (reached) initContainersToStart.push(index);
      continue;
    }

    const step = isSidecar(container)
      ? sidecarStep(container, status, probes)
      : initContainerStep(container, pod, status);
    if (step.isFatal) return { initialized: false, actions: { killPod: true } };
    if (step.kill) containersToKill.push(step.kill);
    if (step.complete) {
      if (index === lastIndex) initialized = true;
      else if (!reached) initContainersToStart.push(index + 1);
    }
    if (step.start) initContainersToStart.push(index);
    reached = true;
  }

  if (!reached) initContainersToStart.push(0);
  initContainersToStart.reverse();
  return { initialized, actions: { initContainersToStart, containersToKill } };
}

/** Ignores exited containers, because after a reboot all have exited and the new sandbox is not initialized. */
function hasRegularContainerStarted(pod: Pod, podStatus: RuntimePodStatus): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findContainerStatus(podStatus, name)?.state;
    return state === 'created' || state === 'running';
  });
}

interface InitStep {
  /** True if the next init container may start. */
  complete?: boolean;
  start?: boolean;
  kill?: ContainerToKill;
  /** True for a failure that ends the pod. */
  isFatal?: boolean;
}

function initContainerStep(container: Container, { spec }: Pod, status: RuntimeContainerStatus): InitStep {
  const isFatal = isInitContainerFailed(status) && !restartsFailedInit(container, spec, status);
  switch (status.state) {
    case 'created':
      // The runtime failed to start it.
      return { start: true };
    case 'running':
      return {};
    case 'exited':
      return isInitContainerFailed(status) ? { isFatal, start: true } : { complete: true };
    case 'unknown':
      return { isFatal, start: true, kill: killUnknown('Init container', status) };
  }
}

function sidecarStep(container: Container, status: RuntimeContainerStatus, probes: ProbeResults): InitStep {
  switch (status.state) {
    case 'created':
    case 'exited':
      return { start: true };
    case 'running':
      return runningSidecarStep(container, status, probes);
    case 'unknown':
      return { start: true, kill: killUnknown('Init container', status) };
  }
}

function runningSidecarStep(container: Container, status: RuntimeContainerStatus, probes: ProbeResults): InitStep {
  const restart = (why: string, reason: ContainerKillReason): InitStep => ({
    start: true,
    kill: { containerID: status.id, name: container.name, message: `Init container ${container.name} ${why}`, reason },
  });

  if (container.startupProbe) {
    const startup = probes.startup.get(status.id);
    if (startup === 'failure') return restart('failed startup probe', 'StartupProbe');
    if (startup !== 'success') return {};
  }
  if (status.hash !== containerHash(container)) return { complete: true, ...restart('definition changed', '') };
  if (container.livenessProbe && probes.liveness.get(status.id) === 'failure') {
    return { complete: true, ...restart('failed liveness probe', 'LivenessProbe') };
  }
  return { complete: true };
}

/** kubelet: kuberuntime/helpers.go isInitContainerFailed */
export function isInitContainerFailed({ reason, state, exitCode }: RuntimeContainerStatus): boolean {
  // The kernel may have killed a process other than the main one. Then the exit code is 0.
  if (reason === 'OOMKilled') return true;
  return state === 'unknown' || (state === 'exited' && exitCode !== 0);
}

/** An unknown exit code counts as a failure, and so does 0 after an OOM kill, which the kubelet takes for success. */
export function restartsFailedInit(
  container: Container,
  spec: PodSpec,
  { state, exitCode }: RuntimeContainerStatus,
): boolean {
  const failure = state === 'exited' && exitCode !== 0 ? exitCode : 137;
  return restartsAfterExit(container, spec, failure);
}
