import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { qosCgroupShares } from '../../../src/engine/container-manager/qos-cgroup-shares.ts';
import { loadTable } from '../../golden-tables.ts';

interface Out {
  burstable: { cpuShares: number };
  besteffort: { cpuShares: number };
}

describe('CPU shares of the QoS cgroups agree with the recorded kubelet', () => {
  it.each(loadTable<{ pods: Pod[] }, Out>('qos-cgroup-shares').map((entry, index) => ({ index, ...entry })))(
    'case $index',
    ({ in: { pods }, out }) => {
      expect(qosCgroupShares(pods)).toEqual({
        Burstable: out.burstable.cpuShares,
        BestEffort: out.besteffort.cpuShares,
      });
    },
  );
});
