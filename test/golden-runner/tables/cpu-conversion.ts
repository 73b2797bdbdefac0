import {
  cpuSharesToWeight,
  milliCPUToQuota,
  milliCPUToShares,
} from '../../../src/engine/container-manager/cpu-conversion.ts';
import { tableAdapter } from '../table-adapter.ts';

export const cpuConversion = tableAdapter<{ milliCPU: number }>('cpu-conversion', (input) => {
  const milliCPU = BigInt(input.milliCPU);
  const shares = milliCPUToShares(milliCPU);
  return { shares, weight: cpuSharesToWeight(shares), quota: milliCPUToQuota(milliCPU) };
});
