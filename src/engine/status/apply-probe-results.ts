import type { ContainerStatus, PodSpec } from '../../api/types.ts';
import { runtimeContainerID } from '../../api/values/container-statuses.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import type { ProbeResults, ProbeWorkers } from '../container/probe-results.ts';

/** Determines whether a running container has started and is ready. */
interface Progress {
  probes: ProbeResults;
  probeWorkers: ProbeWorkers;
  /** Ids of containers whose postStart hook has not finished. */
  starting: ReadonlySet<string>;
}

/** Sets `started` and `ready` of regular containers. kubelet: prober/prober_manager.go UpdatePodStatus */
export function applyProbeResults(statuses: readonly ContainerStatus[], progress: Progress): ContainerStatus[] {
  return statuses.map((status) => withProgress(status, progress));
}

/**
 * Sets `started` and `ready` of init containers. Sidecars are handled like regular containers; all others are ready
 * once they succeeded.
 */
export function applyProbeResultsToInit(
  spec: PodSpec,
  statuses: readonly ContainerStatus[],
  progress: Progress,
): ContainerStatus[] {
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  return statuses.map((status) => {
    if (sidecars.has(status.name)) return withProgress(status, progress);
    const ready = status.state?.terminated?.exitCode === 0 || status.ready;
    return { ...status, ready, started: isStarted(status, progress) };
  });
}

/** The containers with probes in the spec, among regular containers and sidecars. */
export function probeWorkersOfSpec({ containers, initContainers = [] }: PodSpec): ProbeWorkers {
  const probed = [...initContainers.filter(isSidecar), ...containers];
  return {
    startup: new Set(probed.filter(({ startupProbe }) => startupProbe).map(({ name }) => name)),
    readiness: new Set(probed.filter(({ readinessProbe }) => readinessProbe).map(({ name }) => name)),
  };
}

function withProgress(status: ContainerStatus, progress: Progress): ContainerStatus {
  if (!isStarted(status, progress)) return { ...status, started: false };
  const { probes, probeWorkers } = progress;
  const readiness = probes.readiness.get(runtimeContainerID(status.containerID));
  return { ...status, started: true, ready: readiness === 'success' || !probeWorkers.readiness.has(status.name) };
}

function isStarted(status: ContainerStatus, { probes, probeWorkers, starting }: Progress): boolean {
  const id = runtimeContainerID(status.containerID);
  if (!status.state?.running || starting.has(id)) return false;
  const startup = probes.startup.get(id);
  return startup === undefined ? !probeWorkers.startup.has(status.name) : startup === 'success';
}
