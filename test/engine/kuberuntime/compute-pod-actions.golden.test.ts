import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { computePodActions } from '../../../src/engine/kuberuntime/compute-pod-actions.ts';
import { loadTable } from '../../golden-tables.ts';
import { probeResults, runtimePodStatus, type GoldenProbes, type GoldenRuntime } from '../golden-pods.ts';

type In = GoldenRuntime & { pod: Pod; probes: GoldenProbes };

test.each(loadTable<In, object>('pod-actions'))('pod actions, case %#', ({ in: input, out }) => {
  const { containersToKill, ...actions } = computePodActions(
    input.pod,
    runtimePodStatus(input.pod, input),
    probeResults(input.probes),
  );
  const kills = containersToKill
    .map(({ containerID, name, reason }) => ({ id: containerID, name, reason }))
    .sort((a, b) => a.name.localeCompare(b.name));
  expect({ ...actions, containersToKill: kills }).toEqual(out);
});
