import type { CgroupLimits } from './pod-cgroup-limits.ts';

/**
 * Limits under which both the earlier and the next resources of a pod's containers fit. A setting that one side leaves
 * out is unlimited there, so it is left out.
 */
export function raisedLimits(current: CgroupLimits, next: CgroupLimits): CgroupLimits {
  const { cpuShares: shares, cpuQuotaMicros: quota, memoryBytes: memory } = current;
  const { cpuShares, cpuQuotaMicros, cpuPeriodMicros, memoryBytes, ...others } = next;
  return {
    ...others,
    ...(shares !== undefined && cpuShares !== undefined && { cpuShares: Math.max(shares, cpuShares) }),
    ...(quota !== undefined && cpuQuotaMicros !== undefined && { cpuQuotaMicros: largerQuota(quota, cpuQuotaMicros) }),
    ...(cpuPeriodMicros !== undefined && { cpuPeriodMicros }),
    ...(memory !== undefined &&
      memoryBytes !== undefined && { memoryBytes: memory > memoryBytes ? memory : memoryBytes }),
  };
}

/** A negative quota is unlimited. */
function largerQuota(a: number, b: number): number {
  return a < 0 || b < 0 ? -1 : Math.max(a, b);
}
