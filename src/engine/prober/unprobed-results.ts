import type { RuntimePodStatus } from '../kuberuntime/runtime-pod-status.ts';
import type { ProbeResults, ProbeWorkers } from './probe-results.ts';

/** What counts as probe results while no probe is run: every container has started and is as ready as it runs. */
export function unprobedResults({ containerStatuses }: RuntimePodStatus): ProbeResults {
  return {
    liveness: new Map(),
    readiness: new Map(),
    startup: new Map(containerStatuses.map(({ id }) => [id, 'success'])),
  };
}

export const noProbeWorkers: ProbeWorkers = { readiness: new Set(), startup: new Set() };
