import type { Pod, PodStatus } from '../../../src/api/types.ts';
import type { StartFailure } from '../../../src/engine/status/convert-container-statuses.ts';
import { generatePodStatus } from '../../../src/engine/status/generate-pod-status.ts';
import { type GoldenProbes, type GoldenRuntime, probeResults, runtimePodStatus } from '../golden-pods.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = GoldenRuntime & {
  pod: Pod;
  probes: GoldenProbes;
  startFailures: Record<string, StartFailure>;
  previousStatus: PodStatus | null;
  podIsTerminal: boolean;
};

export const podStatus = tableAdapter<In>(
  'pod-status',
  (input) =>
    generatePodStatus({
      pod: input.pod,
      podStatus: runtimePodStatus(input.pod, input),
      oldStatus: input.previousStatus ?? undefined,
      probes: probeResults(input.probes),
      startFailures: new Map(Object.entries(input.startFailures)),
      podIsTerminal: input.podIsTerminal,
      now: Date.parse('2024-06-01T10:20:00Z'),
      runtimeName: 'containerd',
    }),
  // Times that depend on the clock, and messages where they are the kubelet's own.
  { partlyRecorded: ['message', 'lastTransitionTime', 'startTime', 'volumeMounts'] },
);
