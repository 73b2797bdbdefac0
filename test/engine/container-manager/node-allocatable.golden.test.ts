import { describe, expect, it } from 'vitest';
import {
  nodeAllocatableEnforced,
  nodeAllocatableReservation,
  type NodeReservations,
  overReservedResources,
  podsCgroupLimits,
} from '../../../src/engine/container-manager/node-allocatable.ts';
import { loadTable } from '../../golden-tables.ts';
import { recorded } from './cgroup-limits-record.ts';

describe('node allocatable agrees with the recorded kubelet', () => {
  it.each(loadTable<NodeReservations, unknown>('node-allocatable').map((entry, index) => ({ index, ...entry })))(
    'case $index',
    ({ in: node, out }) => {
      const enforced = nodeAllocatableEnforced(node);
      const { pidsLimit, ...podsCgroup } = { pidsLimit: undefined, ...podsCgroupLimits(enforced) };
      expect({
        enforced,
        reservation: nodeAllocatableReservation(node),
        valid: overReservedResources(node).length === 0,
        podsCgroup: { ...recorded(podsCgroup), pidsLimit: pidsLimit === undefined ? null : Number(pidsLimit) },
      }).toEqual(out);
    },
  );
});
