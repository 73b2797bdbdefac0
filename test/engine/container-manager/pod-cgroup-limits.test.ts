import { expect, it } from 'vitest';
import { podCgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { makePod } from '../../builders/pods.ts';

it('limits the processes of a pod only if a positive limit is configured', () => {
  const hugePageLimits = new Map();
  expect(podCgroupLimits(makePod(), { enforceCPULimits: true, podPidsLimit: 100 })).toEqual({
    cpuShares: 2,
    pidsLimit: 100n,
    hugePageLimits,
  });
  expect(podCgroupLimits(makePod(), { enforceCPULimits: true, podPidsLimit: -1 })).toEqual({
    cpuShares: 2,
    hugePageLimits,
  });
});
