import type { Pod } from '../../../src/api/types.ts';
import { computePodActions } from '../../../src/engine/kuberuntime/actions/compute-pod-actions.ts';
import { type GoldenProbes, type GoldenRuntime, probeResults, runtimePodStatus } from '../golden-pods.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = GoldenRuntime & { pod: Pod; probes: GoldenProbes };

export const podActions = tableAdapter<In>('pod-actions', (input) => {
  const { containersToKill, ...actions } = computePodActions(
    input.pod,
    runtimePodStatus(input.pod, input),
    probeResults(input.probes),
  );
  const kills = containersToKill
    .map(({ containerID, name, reason }) => ({ id: containerID, name, reason }))
    .sort((a, b) => a.name.localeCompare(b.name));
  return { ...actions, containersToKill: kills };
});
