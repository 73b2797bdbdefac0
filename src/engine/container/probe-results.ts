/** Last published result of a probe. kubelet: prober/results/results_manager.go Result */
export type ProbeResult = 'success' | 'failure' | 'unknown';

export type ProbeType = 'startup' | 'readiness' | 'liveness';

/** Last published results by container id, without the runtime prefix. An absent id: no result yet. */
export type ProbeResults = Readonly<Record<ProbeType, ReadonlyMap<string, ProbeResult>>>;

/** Names of the containers of one pod whose probe is being run; decides what "no result yet" means for its status. */
export type ProbeWorkers = Readonly<Record<'readiness' | 'startup', ReadonlySet<string>>>;

/** Where no probe is run every container has started and is as ready as it runs. */
export const noProbeResults: ProbeResults = { startup: new Map(), readiness: new Map(), liveness: new Map() };
export const noProbeWorkers: ProbeWorkers = { startup: new Set(), readiness: new Set() };

/** A container that ran, and what its probes had found out. */
export interface ProbedBefore {
  name: string;
  /** As the status has it. */
  id: string;
  started: boolean;
  ready: boolean;
}
