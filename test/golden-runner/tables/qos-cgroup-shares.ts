import type { Pod } from '../../../src/api/types.ts';
import { qosCgroupShares } from '../../../src/engine/container-manager/qos-cgroups.ts';
import { tableAdapter } from '../table-adapter.ts';

export const qosCgroupSharesTable = tableAdapter<{ pods: Pod[] }>('qos-cgroup-shares', ({ pods }) => {
  const shares = qosCgroupShares(pods);
  return { burstable: { cpuShares: shares.Burstable }, besteffort: { cpuShares: shares.BestEffort } };
});
