import type { CgroupLimits } from '../../src/engine/container-manager/pod-cgroup-limits.ts';

/** Settings of a cgroup as the tables write them: null for not set, bytes as text. */
export function recordedLimits(limits: CgroupLimits) {
  const hugePages = [...limits.hugePageLimits].map(([size, bytes]) => [size, String(bytes)]);
  return {
    cpuShares: limits.cpuShares ?? null,
    cpuQuota: limits.cpuQuotaMicros ?? null,
    cpuPeriod: limits.cpuPeriodMicros ?? null,
    memory: limits.memoryBytes === undefined ? null : String(limits.memoryBytes),
    hugePageLimit: Object.fromEntries(hugePages) as Record<string, string>,
  };
}
