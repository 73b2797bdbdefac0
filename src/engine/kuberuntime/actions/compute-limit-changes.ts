import { quotaPeriodMicros } from '../../container-manager/cpu-conversion.ts';
import type { CgroupLimits } from '../../container-manager/pod-cgroup-limits.ts';

/** One setting of a pod's cgroup. */
export type LimitChange = Partial<
  Pick<CgroupLimits, 'cpuShares' | 'cpuQuotaMicros' | 'cpuPeriodMicros' | 'memoryBytes'>
>;

/** No limit, as cgroup v1 writes it. */
export const unlimitedBytes = 2n ** 63n - 4096n;

/**
 * The changes of a pod's cgroup around a resize of its containers: `raise` before them, `lower` after them, so that
 * neither limits the other too early. kubelet: kuberuntime_manager.go doPodResizeAction
 */
export function computeLimitChanges(
  from: CgroupLimits,
  to: CgroupLimits,
): { raise: LimitChange[]; lower: LimitChange[] } {
  const { memoryBytes = unlimitedBytes, cpuQuotaMicros = -1, cpuPeriodMicros = quotaPeriodMicros, cpuShares } = to;
  const compared: [before: number, after: number, change: LimitChange][] = [
    [Number(from.memoryBytes ?? unlimitedBytes), Number(memoryBytes), { memoryBytes }],
    [quota(from), quota(to), { cpuQuotaMicros, cpuPeriodMicros }],
    [from.cpuShares ?? 0, cpuShares ?? 0, cpuShares === undefined ? {} : { cpuShares }],
  ];
  return {
    raise: compared.flatMap(([before, after, change]) => (after > before ? [change] : [])),
    lower: compared.flatMap(([before, after, change]) => (after < before ? [change] : [])),
  };
}

/** The larger one of two quotas. Undefined if a side has none. */
export function largerQuota(a: CgroupLimits, b: CgroupLimits): LimitChange | undefined {
  const { cpuQuotaMicros, cpuPeriodMicros = quotaPeriodMicros } = quota(a) > quota(b) ? a : b;
  return cpuQuotaMicros === undefined ? undefined : { cpuQuotaMicros, cpuPeriodMicros };
}

/** A negative quota means unlimited. */
function quota({ cpuQuotaMicros = -1 }: CgroupLimits): number {
  return cpuQuotaMicros < 0 ? Infinity : cpuQuotaMicros;
}
