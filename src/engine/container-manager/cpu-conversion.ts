/** CFS period of quotas, in microseconds. kubelet: cm/helpers_linux.go QuotaPeriod */
export const quotaPeriodMicros = 100_000;
/** The kernel's lower limit for CPU shares. */
export const minShares = 2;

const maxShares = 262_144;
const sharesPerCPU = 1024n;
/** One millisecond, the kernel's lower limit for quotas. */
const minQuotaMicros = 1000;

/** cgroup v1 CPU shares of a CPU request in milli-CPU. kubelet: cm/helpers_linux.go MilliCPUToShares */
export function milliCPUToShares(milliCPU: bigint): number {
  const shares = Number((milliCPU * sharesPerCPU) / 1000n);
  return Math.min(Math.max(shares, minShares), maxShares);
}

/**
 * CFS quota in microseconds for a CPU limit in milli-CPU. 0 means no limit. kubelet: cm/helpers_linux.go
 * MilliCPUToQuota
 */
export function milliCPUToQuota(milliCPU: bigint, periodMicros = quotaPeriodMicros): number {
  if (milliCPU === 0n) return 0;
  return Math.max(Number((milliCPU * BigInt(periodMicros)) / 1000n), minQuotaMicros);
}

/** The inverse of `milliCPUToShares`, rounded up. kubelet: kuberuntime/helpers_linux.go sharesToMilliCPU */
export function sharesToMilliCPU(shares: bigint): bigint {
  return shares <= BigInt(minShares) ? 2n : (shares * 1000n + sharesPerCPU - 1n) / sharesPerCPU;
}

/** The inverse of `milliCPUToQuota`, rounded. kubelet: kuberuntime/helpers_linux.go quotaToMilliCPU */
export function quotaToMilliCPU(quotaMicros: bigint, periodMicros: bigint): bigint {
  return (quotaMicros * 1000n + periodMicros / 2n) / periodMicros;
}

/** cgroup v2 weight (1 to 10000) of cgroup v1 shares. kubelet: cm/cgroup_v2_manager_linux.go cpuSharesToCPUWeight */
export function cpuSharesToWeight(shares: number): number {
  return 1 + Math.trunc(((shares - minShares) * 9999) / (maxShares - minShares));
}
