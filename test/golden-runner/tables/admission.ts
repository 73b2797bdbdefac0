import type { Node } from 'kubernetes-types/core/v1.js';
import type { Pod } from '../../../src/api/types.ts';
import { admitPod } from '../../../src/engine/lifecycle/admit-pod.ts';
import { sysctlAllowlist } from '../../../src/engine/lifecycle/sysctl-allowlist.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  node: Node;
  nodeConditions: string[];
  allowedUnsafeSysctls: string[];
  otherPods: Pod[];
  pod: Pod;
}

export const admission = tableAdapter<In>('admission', ({ node, pod, otherPods, ...input }) => {
  const result = admitPod(pod, otherPods, {
    name: node.metadata?.name ?? '',
    labels: node.metadata?.labels ?? {},
    taints: node.spec?.taints ?? [],
    allocatable: node.status?.allocatable ?? {},
    allowedSysctls: sysctlAllowlist('6.0', input.allowedUnsafeSysctls),
    appArmorEnabled: false,
    supportsSupplementalGroupsPolicy: true,
    allowsPodLevelResources: true,
    pressures: input.nodeConditions,
    evictionPolicy: 'kubelet',
    isShuttingDown: false,
  });
  return {
    admit: result.admit,
    preempted: result.admit ? result.preempt.map(({ metadata }) => metadata.uid).toSorted() : [],
    reason: result.admit ? '' : result.rejection.reason,
  };
});
