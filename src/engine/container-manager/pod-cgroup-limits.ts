import { podQOSClass } from '../../api/values/qos.ts';
import { podLimits, podRequests, toTotals } from '../../api/values/resource-totals.ts';
import type { Container, Pod } from '../../api/types.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { milliCPUToQuota, milliCPUToShares, minShares, quotaPeriodMicros } from './cpu-conversion.ts';
import { hugePageLimits } from './huge-pages.ts';
import { memoryBytes, milliCPU } from '../../api/values/resource-amounts.ts';

/** Settings of one cgroup. Missing settings stay unchanged. kubelet: cm/types.go ResourceConfig */
export interface CgroupLimits {
  cpuShares?: number;
  cpuQuotaMicros?: number;
  cpuPeriodMicros?: number;
  memoryBytes?: bigint;
  /** Memory that the kernel never reclaims, on cgroup v2. */
  memoryMinBytes?: bigint;
  /** Memory that the kernel reclaims last, on cgroup v2. */
  memoryLowBytes?: bigint;
  pidsLimit?: bigint;
  /** Bytes by page size in bytes. */
  hugePageLimits: ReadonlyMap<bigint, bigint>;
}

export interface PodCgroupSettings {
  /** cpuCFSQuota: true if CPU limits are enforced. */
  enforceCPULimits: boolean;
  /** cpuCFSQuotaPeriod. */
  cpuPeriodMicros?: number;
  /** podPidsLimit. No limit if it is not positive. */
  podPidsLimit?: number;
  /** memoryReservationPolicy TieredReservation. */
  reservesMemory?: boolean | undefined;
}

const noQuota = -1;

/** Settings of a pod's cgroup. kubelet: cm/helpers_linux.go ResourceConfigForPod */
export function podCgroupLimits(pod: Pod, settings: PodCgroupSettings): CgroupLimits {
  const { podPidsLimit = 0, reservesMemory = false } = settings;
  return {
    ...cpuAndMemory(pod, settings),
    ...(reservesMemory && memoryReservation(pod)),
    ...(podPidsLimit > 0 && { pidsLimit: BigInt(podPidsLimit) }),
    hugePageLimits: hugePageLimits(podRequests(pod)),
  };
}

/** A Burstable pod's cgroup limits a resource only if the pod or all its containers have a limit for it. */
function cpuAndMemory(pod: Pod, settings: PodCgroupSettings): Omit<CgroupLimits, 'hugePageLimits'> {
  const cpuShares = milliCPUToShares(milliCPU(podRequests(pod)));
  switch (podQOSClass(pod)) {
    case 'Guaranteed':
      return { cpuShares, ...cpuQuota(pod, settings), ...memoryLimit(pod) };
    case 'Burstable':
      return {
        cpuShares,
        ...(isLimited(pod, 'cpu') && cpuQuota(pod, settings)),
        ...(isLimited(pod, 'memory') && memoryLimit(pod)),
      };
    case 'BestEffort':
      return { cpuShares: minShares };
  }
}

function cpuQuota(
  pod: Pod,
  { enforceCPULimits, cpuPeriodMicros = quotaPeriodMicros }: PodCgroupSettings,
): Pick<CgroupLimits, 'cpuQuotaMicros' | 'cpuPeriodMicros'> {
  const quota = milliCPUToQuota(milliCPU(podLimits(pod)), cpuPeriodMicros);
  return { cpuQuotaMicros: enforceCPULimits ? quota : noQuota, cpuPeriodMicros };
}

function memoryLimit(pod: Pod): Pick<CgroupLimits, 'memoryBytes'> {
  return { memoryBytes: memoryBytes(podLimits(pod)) };
}

/** The memory that the kernel keeps for the pod, which bounds what it keeps for each container. */
function memoryReservation(pod: Pod): Pick<CgroupLimits, 'memoryMinBytes' | 'memoryLowBytes'> {
  const requested = memoryBytes(podRequests(pod));
  switch (podQOSClass(pod)) {
    case 'Guaranteed':
      return { memoryMinBytes: requested };
    case 'Burstable':
      return { memoryLowBytes: requested };
    case 'BestEffort':
      return {};
  }
}

/**
 * True if the pod or all its containers limit the resource. For an init container, the limit of an earlier sidecar also
 * counts. kubelet: PodLimits ContainerFn
 */
function isLimited({ spec }: Pod, resource: 'cpu' | 'memory'): boolean {
  if (limits(spec, resource)) return true;
  const isLimitedInit = (container: Container, index: number, all: readonly Container[]): boolean =>
    limits(container, resource) || all.slice(0, index).some((other) => isSidecar(other) && limits(other, resource));
  return (
    spec.containers.every((container) => limits(container, resource)) &&
    (spec.initContainers ?? []).every(isLimitedInit)
  );
}

function limits({ resources }: Pick<Container, 'resources'>, resource: 'cpu' | 'memory'): boolean {
  const limit = toTotals(resources?.limits).get(resource);
  return limit !== undefined && limit.nanos !== 0n;
}
