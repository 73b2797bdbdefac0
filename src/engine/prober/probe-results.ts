/** Last published result of a probe. kubelet: prober/results/results_manager.go Result */
export type ProbeResult = 'success' | 'failure' | 'unknown';

export type ProbeType = 'liveness' | 'readiness' | 'startup';

/** Last published results by container id, without the runtime prefix. An absent id: no result yet. */
export type ProbeResults = Readonly<Record<ProbeType, ReadonlyMap<string, ProbeResult>>>;

/** Names of the containers of one pod whose probe is being run; decides what "no result yet" means for its status. */
export type ProbeWorkers = Readonly<Record<'readiness' | 'startup', ReadonlySet<string>>>;
