import type { ContainerStatus, PodSpec } from '../../../src/api/types.ts';
import { getPodPhase } from '../../../src/engine/status/get-pod-phase.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  spec: PodSpec;
  statuses: ContainerStatus[];
  podIsTerminal: boolean;
  podHasInitialized: boolean;
}

export const podPhase = tableAdapter<In>('pod-phase', ({ spec, statuses, podIsTerminal, podHasInitialized }) => ({
  phase: getPodPhase({ spec }, statuses, podIsTerminal, podHasInitialized),
}));
