import {
  nodeAllocatableEnforced,
  nodeAllocatableReservation,
  type NodeReservations,
  overReservedResources,
  podsCgroupLimits,
} from '../../../src/engine/container-manager/node-allocatable.ts';
import { recordedLimits } from '../cgroup-limits-record.ts';
import { tableAdapter } from '../table-adapter.ts';

export const nodeAllocatable = tableAdapter<NodeReservations>('node-allocatable', (node) => {
  const enforced = nodeAllocatableEnforced(node);
  const { pidsLimit, ...podsCgroup } = { pidsLimit: undefined, ...podsCgroupLimits(enforced) };
  return {
    enforced,
    reservation: nodeAllocatableReservation(node),
    valid: overReservedResources(node).length === 0,
    podsCgroup: { ...recordedLimits(podsCgroup), pidsLimit: pidsLimit === undefined ? null : Number(pidsLimit) },
  };
});
