import type { Pod } from '../../../src/api/types.ts';
import { computePodActions } from '../../../src/engine/kuberuntime/actions/compute-pod-actions.ts';
import { areAllContainersRestarting } from '../../../src/engine/kuberuntime/actions/restart-all-containers.ts';
import { type GoldenProbes, type GoldenRuntime, probeResults, runtimePodStatus } from '../golden-pods.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = GoldenRuntime & { pod: Pod; probes: GoldenProbes; allContainersRestarting?: boolean };

export const podActions = tableAdapter<In>('pod-actions', (input) => {
  const runtime = runtimePodStatus(input.pod, input);
  const { containersToKill, containersToReset, ...actions } = computePodActions(
    input.pod,
    runtime,
    probeResults(input.probes),
    input.allContainersRestarting ?? false,
  );
  const kills = containersToKill
    .map(({ containerID, name, reason }) => ({ id: containerID, name, reason }))
    .sort((a, b) => a.name.localeCompare(b.name));
  return {
    ...actions,
    containersToKill: kills,
    ...(containersToReset.length > 0 && {
      containersToReset: containersToReset.map(({ containerID, name, kill }) => ({ id: containerID, name, kill })),
    }),
    restartAll: areAllContainersRestarting(input.pod, runtime),
  };
});
