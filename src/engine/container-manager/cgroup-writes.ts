import type { CgroupController } from './cgroup-mounts.ts';
import { cpuSharesToWeight, quotaPeriodMicros } from './cpu-conversion.ts';
import { hugePageSizeName } from './huge-pages.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** One setting of a cgroup, as the file and the value to write. */
export interface CgroupWrite {
  controller: CgroupController;
  file: string;
  value: string;
  /** True if some kernels with the controller lack the file. */
  optional?: true;
}

/**
 * The files to write for these limits. The period comes before the quota, because the kernel checks the quota against
 * it. kubelet: opencontainers/cgroups fs/*.go and fs2/*.go Set
 */
export function cgroupWrites(limits: CgroupLimits, version: 1 | 2): CgroupWrite[] {
  return [
    ...(version === 1 ? cpuWritesV1(limits) : cpuWritesV2(limits)),
    ...memoryWrites(limits, version === 1 ? 'memory.limit_in_bytes' : 'memory.max'),
    ...(version === 2 ? memoryReservationWrites(limits) : []),
    ...pidsWrites(limits),
    ...hugePageWrites(limits, version === 1 ? 'limit_in_bytes' : 'max'),
  ];
}

function cpuWritesV1({ cpuShares, cpuPeriodMicros = 0, cpuQuotaMicros = 0 }: CgroupLimits): CgroupWrite[] {
  const writes: CgroupWrite[] = [];
  if (cpuShares !== undefined) writes.push(cpu('cpu.shares', cpuShares));
  if (cpuPeriodMicros !== 0) writes.push(cpu('cpu.cfs_period_us', cpuPeriodMicros));
  if (cpuQuotaMicros !== 0) writes.push(cpu('cpu.cfs_quota_us', cpuQuotaMicros));
  return writes;
}

function cpuWritesV2({ cpuShares, cpuPeriodMicros, cpuQuotaMicros = 0 }: CgroupLimits): CgroupWrite[] {
  const writes: CgroupWrite[] = [];
  if (cpuShares !== undefined) writes.push(cpu('cpu.weight', cpuSharesToWeight(cpuShares)));
  const quota = cpuQuotaMicros > 0 ? String(cpuQuotaMicros) : 'max';
  if (cpuQuotaMicros !== 0) writes.push(cpu('cpu.max', `${quota} ${cpuPeriodMicros ?? quotaPeriodMicros}`));
  return writes;
}

function cpu(file: string, value: number | string): CgroupWrite {
  return { controller: 'cpu', file, value: String(value) };
}

function memoryWrites({ memoryBytes = 0n }: CgroupLimits, file: string): CgroupWrite[] {
  return memoryBytes === 0n ? [] : [{ controller: 'memory', file, value: memoryBytes.toString() }];
}

function memoryReservationWrites({ memoryMinBytes, memoryLowBytes }: CgroupLimits): CgroupWrite[] {
  const writes: CgroupWrite[] = [];
  const add = (file: string, bytes: bigint): void => {
    writes.push({ controller: 'memory', file, value: bytes.toString() });
  };
  if (memoryMinBytes !== undefined) add('memory.min', memoryMinBytes);
  if (memoryLowBytes !== undefined) add('memory.low', memoryLowBytes);
  return writes;
}

function pidsWrites({ pidsLimit = 0n }: CgroupLimits): CgroupWrite[] {
  return pidsLimit <= 0n ? [] : [{ controller: 'pids', file: 'pids.max', value: pidsLimit.toString() }];
}

/**
 * Kernels since 5.7 can also limit reserved pages. A process then fails when it reserves too many pages, instead of
 * being killed when it touches them.
 */
function hugePageWrites({ hugePageLimits }: CgroupLimits, suffix: string): CgroupWrite[] {
  return [...hugePageLimits].flatMap(([size, limit]) => {
    const name = `hugetlb.${hugePageSizeName(size)}`;
    const setting = { controller: 'hugetlb', value: limit.toString() } as const;
    return [
      { ...setting, file: `${name}.${suffix}` },
      { ...setting, file: `${name}.rsvd.${suffix}`, optional: true },
    ] satisfies CgroupWrite[];
  });
}
