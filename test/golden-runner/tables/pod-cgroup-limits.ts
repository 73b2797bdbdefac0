import type { Pod } from '../../../src/api/types.ts';
import { podCgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { recordedLimits } from '../cgroup-limits-record.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  pod: Pod;
  enforceCPULimits: boolean;
  cpuPeriodMicros: number;
}

export const podCgroupLimitsTable = tableAdapter<In>('pod-cgroup-limits', ({ pod, ...settings }) =>
  recordedLimits(podCgroupLimits(pod, settings)),
);
