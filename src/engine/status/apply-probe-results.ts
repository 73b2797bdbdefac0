import type { ContainerStatus, PodSpec } from '../../api/types.ts';
import { runtimeContainerID } from '../../api/values/container-statuses.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import type { ProbeResults, ProbeWorkers } from '../container/probe-results.ts';

/** Sets `started` and `ready` of regular containers. kubelet: prober/prober_manager.go UpdatePodStatus */
export function applyProbeResults(
  statuses: readonly ContainerStatus[],
  probes: ProbeResults,
  workers: ProbeWorkers,
): ContainerStatus[] {
  return statuses.map((status) => withProbes(status, probes, workers));
}

/**
 * Sets `started` and `ready` of init containers. Sidecars are handled like regular ones, the others are ready once they
 * succeeded.
 */
export function applyProbeResultsToInit(
  spec: PodSpec,
  statuses: readonly ContainerStatus[],
  probes: ProbeResults,
  workers: ProbeWorkers,
): ContainerStatus[] {
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  return statuses.map((status) => {
    if (sidecars.has(status.name)) return withProbes(status, probes, workers);
    const ready = status.state?.terminated?.exitCode === 0 || status.ready;
    return { ...status, ready, started: isStarted(status, probes, workers) };
  });
}

/** The containers whose probes run by the spec: those of all regular containers and sidecars. */
export function probeWorkersOfSpec({ containers, initContainers = [] }: PodSpec): ProbeWorkers {
  const probed = [...initContainers.filter(isSidecar), ...containers];
  return {
    startup: new Set(probed.filter(({ startupProbe }) => startupProbe).map(({ name }) => name)),
    readiness: new Set(probed.filter(({ readinessProbe }) => readinessProbe).map(({ name }) => name)),
  };
}

function withProbes(status: ContainerStatus, probes: ProbeResults, workers: ProbeWorkers): ContainerStatus {
  if (!isStarted(status, probes, workers)) return { ...status, started: false };
  const ready =
    probes.readiness.get(runtimeContainerID(status.containerID)) === 'success' || !workers.readiness.has(status.name);
  return { ...status, started: true, ready };
}

function isStarted(status: ContainerStatus, probes: ProbeResults, workers: ProbeWorkers): boolean {
  if (!status.state?.running) return false;
  const startup = probes.startup.get(runtimeContainerID(status.containerID));
  return startup === undefined ? !workers.startup.has(status.name) : startup === 'success';
}
