import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { podCgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { loadTable } from '../../golden-tables.ts';
import { recorded } from './cgroup-limits-record.ts';

interface In {
  pod: Pod;
  enforceCPULimits: boolean;
  cpuPeriodMicros: number;
}

describe('settings of pod cgroups agree with the recorded kubelet', () => {
  it.each(loadTable<In, unknown>('pod-cgroup-limits').map((entry, index) => ({ index, ...entry })))(
    'case $index',
    ({ in: { pod, ...settings }, out }) => {
      expect(recorded(podCgroupLimits(pod, settings))).toEqual(out);
    },
  );
});
