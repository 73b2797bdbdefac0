import { describe, expect, it } from 'vitest';
import {
  cpuSharesToWeight,
  milliCPUToQuota,
  milliCPUToShares,
} from '../../../src/engine/container-manager/cpu-conversion.ts';
import { loadTable } from '../../golden-tables.ts';

const cases = loadTable<{ milliCPU: number }, { quota: number; shares: number; weight: number }>('cpu-conversion');

describe('CPU conversion agrees with the recorded kubelet', () => {
  it.each(cases)('$in.milliCPU milli-CPU', ({ in: input, out }) => {
    const milliCPU = BigInt(input.milliCPU);
    const shares = milliCPUToShares(milliCPU);
    expect({ shares, weight: cpuSharesToWeight(shares), quota: milliCPUToQuota(milliCPU) }).toEqual(out);
  });
});
