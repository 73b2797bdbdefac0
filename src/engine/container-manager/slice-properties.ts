import { cpuSharesToWeight, quotaPeriodMicros } from './cpu-conversion.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';
import type { UnitProperty } from './systemd.ts';

/** USEC_INFINITY of systemd. */
const infinity = 2n ** 64n - 1n;
const microsPerSecond = 1_000_000n;
/** systemd stores whole percents. Rounding up keeps the full quota for containers. */
const percentMicros = 10_000n;

/** Properties of a new slice. Enables accounting, so that limits can be set later. */
export function newSliceProperties(unit: string, parent: string, version: 1 | 2): UnitProperty[] {
  const accounting = ['CPU', 'Memory', 'Tasks', version === 1 ? 'BlockIO' : 'IO'];
  return [
    { name: 'Description', signature: 's', value: `kubelet-ts pods (${unit})` },
    { name: 'Wants', signature: 'as', value: [parent] },
    { name: 'DefaultDependencies', signature: 'b', value: false },
    ...accounting.map((what): UnitProperty => ({ name: `${what}Accounting`, signature: 'b', value: true })),
  ];
}

/**
 * Converts limits to systemd properties, so that systemd does not overwrite the cgroup's files. systemd has no property
 * for huge pages. kubelet: opencontainers/cgroups systemd/v1.go and v2.go genV…ResourcesProperties
 */
export function sliceLimits(limits: CgroupLimits, version: 1 | 2): UnitProperty[] {
  const { cpuShares, memoryBytes = 0n, memoryMinBytes, memoryLowBytes, pidsLimit = 0n } = limits;
  const properties: UnitProperty[] = [];
  const add = (name: string, value: bigint): void => {
    properties.push({ name, signature: 't', value });
  };
  // systemd writes a drop-in per property, and warns that the slice changed on disk unless they come in this order.
  for (const [name, value] of cpuQuota(limits)) add(name, value);
  if (cpuShares !== undefined && version === 1) add('CPUShares', BigInt(cpuShares));
  if (cpuShares !== undefined && version === 2) add('CPUWeight', BigInt(cpuSharesToWeight(cpuShares)));
  if (memoryLowBytes !== undefined && version === 2) add('MemoryLow', memoryLowBytes);
  if (memoryBytes > 0n) add(version === 1 ? 'MemoryLimit' : 'MemoryMax', memoryBytes);
  if (memoryMinBytes !== undefined && version === 2) add('MemoryMin', memoryMinBytes);
  if (pidsLimit > 0n) add('TasksMax', pidsLimit);
  return properties;
}

function cpuQuota({ cpuQuotaMicros = 0, cpuPeriodMicros = quotaPeriodMicros }: CgroupLimits): [string, bigint][] {
  if (cpuQuotaMicros === 0) return [];
  // systemd before 242 lacks this property, and 100 ms is its default.
  const period: [string, bigint][] =
    cpuPeriodMicros === quotaPeriodMicros ? [] : [['CPUQuotaPeriodUSec', BigInt(cpuPeriodMicros)]];
  return [...period, ['CPUQuotaPerSecUSec', perSecond(BigInt(cpuQuotaMicros), BigInt(cpuPeriodMicros))]];
}

function perSecond(quota: bigint, period: bigint): bigint {
  if (quota < 0n) return infinity;
  const exact = (quota * microsPerSecond) / period;
  const rest = exact % percentMicros;
  return rest === 0n ? exact : exact - rest + percentMicros;
}
