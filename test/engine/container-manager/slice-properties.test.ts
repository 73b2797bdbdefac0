import { describe, expect, test } from 'vitest';
import { newSliceProperties, sliceLimits } from '../../../src/engine/container-manager/slice-properties.ts';
import type { UnitProperty } from '../../../src/engine/container-manager/systemd.ts';

const hugePageLimits = new Map<bigint, bigint>();
const limits = {
  cpuShares: 512,
  cpuQuotaMicros: 50_000,
  cpuPeriodMicros: 100_000,
  memoryBytes: 64n,
  pidsLimit: 100n,
  hugePageLimits,
};

function valuesOf(properties: UnitProperty[]): Record<string, unknown> {
  return Object.fromEntries(properties.map(({ name, value }) => [name, value]));
}

describe('a slice', () => {
  test('is made below its parent, with everything in it counted', () => {
    expect(valuesOf(newSliceProperties('kubepods-burstable.slice', 'kubepods.slice', 2))).toEqual({
      Description: 'kubelet-ts pods (kubepods-burstable.slice)',
      Wants: ['kubepods.slice'],
      DefaultDependencies: false,
      CPUAccounting: true,
      MemoryAccounting: true,
      TasksAccounting: true,
      IOAccounting: true,
    });
    expect(valuesOf(newSliceProperties('a.slice', '-.slice', 1))).toHaveProperty('BlockIOAccounting', true);
  });

  test('has its limits in the words of its cgroup version', () => {
    expect(valuesOf(sliceLimits(limits, 1))).toEqual({
      MemoryLimit: 64n,
      CPUShares: 512n,
      CPUQuotaPerSecUSec: 500_000n,
      TasksMax: 100n,
    });
    expect(valuesOf(sliceLimits(limits, 2))).toEqual({
      MemoryMax: 64n,
      CPUWeight: 20n,
      CPUQuotaPerSecUSec: 500_000n,
      TasksMax: 100n,
    });
  });

  test('has its limits in the order of their drop-ins: in another, systemd says that they changed on disk', () => {
    const names = (version: 1 | 2): string[] => sliceLimits(limits, version).map(({ name }) => name);
    expect(names(1)).toEqual(['CPUQuotaPerSecUSec', 'CPUShares', 'MemoryLimit', 'TasksMax']);
    expect(names(2)).toEqual(['CPUQuotaPerSecUSec', 'CPUWeight', 'MemoryMax', 'TasksMax']);
  });

  test('keeps memory free on cgroup v2 only', () => {
    const reserved = { memoryBytes: 64n, memoryMinBytes: 32n, memoryLowBytes: 0n, hugePageLimits };
    expect(sliceLimits(reserved, 1).map(({ name }) => name)).toEqual(['MemoryLimit']);
    expect(sliceLimits(reserved, 2).map(({ name, value }) => [name, value])).toEqual([
      ['MemoryLow', 0n],
      ['MemoryMax', 64n],
      ['MemoryMin', 32n],
    ]);
  });

  test('is left as it is where there is no limit', () => {
    expect(sliceLimits({ hugePageLimits }, 2)).toEqual([]);
  });

  test.each([
    [{ cpuQuotaMicros: -1 }, { CPUQuotaPerSecUSec: 2n ** 64n - 1n }],
    // Whole percents, rounded up: 0.1234 of a CPU.
    [{ cpuQuotaMicros: 12_340 }, { CPUQuotaPerSecUSec: 130_000n }],
    [
      { cpuQuotaMicros: 5000, cpuPeriodMicros: 10_000 },
      { CPUQuotaPeriodUSec: 10_000n, CPUQuotaPerSecUSec: 500_000n },
    ],
  ])('has the CPU quota %j in whole percents of a second', (quota, expected) => {
    expect(valuesOf(sliceLimits({ ...quota, hugePageLimits }, 2))).toEqual(expected);
  });
});
