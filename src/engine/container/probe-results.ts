/** Last published result of a probe. kubelet: prober/results/results_manager.go Result */
export type ProbeResult = 'success' | 'failure' | 'unknown';

export type ProbeType = 'startup' | 'readiness' | 'liveness';

/** Last published results by container id, without the runtime prefix. A missing id has no result yet. */
export type ProbeResults = Readonly<Record<ProbeType, ReadonlyMap<string, ProbeResult>>>;

/** Names of a pod's containers whose probes run. For these the status treats a missing result differently. */
export type ProbeWorkers = Readonly<Record<'readiness' | 'startup', ReadonlySet<string>>>;

/** For a pod without probes. Every container counts as started, and as ready while it runs. */
export const noProbeResults: ProbeResults = { startup: new Map(), readiness: new Map(), liveness: new Map() };
export const noProbeWorkers: ProbeWorkers = { startup: new Set(), readiness: new Set() };

/** A container of an earlier agent, with what its probes found then. */
export interface ProbedBefore {
  name: string;
  /** As in the pod status. */
  id: string;
  started: boolean;
  ready: boolean;
}
