import { hasSystemPriority } from '../../../api/values/critical-pod.ts';
import { podQOSClass } from '../../../api/values/qos.ts';
import { podLevelAmounts } from '../../../api/values/pod-level-resources.ts';
import { podLimits, podRequests, type ResourceTotals, toTotals } from '../../../api/values/resource-totals.ts';
import type { Container, Pod } from '../../../api/types.ts';
import type { ContainerConfig } from '../../../cri/types.ts';
import { milliCPUToQuota, milliCPUToShares } from '../../container-manager/cpu-conversion.ts';
import { hugePageLimits, hugePageSizeName } from '../../container-manager/huge-pages.ts';
import { containerOOMScoreAdj } from '../../container-manager/oom-score-adj.ts';
import { memoryBytes, milliCPU } from '../../../api/values/resource-amounts.ts';

export type LinuxContainerResources = NonNullable<NonNullable<ContainerConfig['linux']>['resources']>;

/** Settings of the node for resources of sandboxes and containers. */
export interface NodeResources {
  cgroupVersion: 1 | 2;
  /** cpuCFSQuota: true if CPU limits are enforced. */
  cpuCFSQuota: boolean;
  /** cpuCFSQuotaPeriod: period of CPU quotas. */
  cpuCFSQuotaPeriodMicros: number;
  /** singleProcessOOMKill. A cgroup v1 node always kills single processes. */
  singleProcessOOMKill: boolean;
  memoryCapacityBytes: bigint;
  /** True if the kernel can limit a cgroup's swap. */
  hasSwapController: boolean;
  /** Swap of the machine in bytes if pods may use it (LimitedSwap), otherwise 0. */
  swapForPodsBytes: bigint;
  /** Huge page sizes of the machine in bytes. */
  hugePageSizes: readonly bigint[];
  /** Set with the feature gate MemoryQoS, on cgroup v2 only. */
  memoryQoS?: MemoryQoS | undefined;
}

export interface MemoryQoS {
  /** memoryThrottlingFactor: point between request and limit above which the kernel throttles allocations. */
  throttlingFactor: number;
  /** Used as the limit of a container without a limit. */
  allocatableMemoryBytes: bigint;
  /** memoryReservationPolicy TieredReservation: true if the kernel keeps requested memory for its pod. */
  reservesMemory: boolean;
}

/** memory.high is a multiple of it, as on most machines. The kernel rounds down to larger pages itself. */
const pageSizeBytes = 4096;

/**
 * `exclusiveCPUs`: names of containers that have CPUs for themselves, so that no quota slows them down. kubelet:
 * kuberuntime/kuberuntime_container_linux.go generateLinuxContainerResources
 */
export function containerResources(
  pod: Pod,
  container: Container,
  node: NodeResources,
  exclusiveCPUs?: ReadonlySet<string>,
): LinuxContainerResources {
  const requests = toTotals(container.resources?.requests);
  const limits = containerLimits(pod, container);
  const { unified, ...resources } = linuxResources(requests, limits, node);
  return {
    ...resources,
    ...(exclusiveCPUs?.has(container.name) === true && withoutQuota(resources)),
    oomScoreAdj: containerOOMScoreAdj(pod, container, node.memoryCapacityBytes),
    hugepageLimits: hugepageLimits(limits, node.hugePageSizes),
    ...(node.cgroupVersion === 1 && node.hasSwapController && noSwap(resources)),
    unified: {
      ...unified,
      ...(node.cgroupVersion === 2 &&
        node.hasSwapController && { 'memory.swap.max': swapLimit(pod, container, node).toString() }),
      ...(node.memoryQoS && memoryQoS(pod, container, node.memoryQoS)),
    },
  };
}

/**
 * The container's limits. Resources without a container limit get the pod-level limit. kubelet:
 * kuberuntime/kuberuntime_container_linux.go getCPULimit, getMemoryLimit
 */
function containerLimits({ spec }: Pod, { resources }: Container): ResourceTotals {
  const own = [...toTotals(resources?.limits)].filter(([, { nanos }]) => nanos !== 0n);
  return new Map([...toTotals(podLevelAmounts(spec, 'limits')), ...own]);
}

/**
 * Total resources of the pod's containers, without the pod's overhead. kubelet:
 * kuberuntime/kuberuntime_sandbox_linux.go calculateSandboxResources
 */
export function sandboxResources(
  { spec }: Pod,
  node: NodeResources,
  exclusiveCPUs?: ReadonlySet<string>,
): LinuxContainerResources {
  const pod = { spec: { ...spec, overhead: {} } };
  const resources = linuxResources(podRequests(pod), podLimits(pod), node);
  return { ...resources, ...((exclusiveCPUs?.size ?? 0) > 0 && withoutQuota(resources)) };
}

/** Without CPU quotas on the node there is no quota to lift. */
const withoutQuota = ({ cpuPeriod }: LinuxContainerResources): LinuxContainerResources =>
  cpuPeriod === undefined ? {} : { cpuQuota: -1 };

/** Overhead of the pod beyond its containers. kubelet: convertOverheadToLinuxResources */
export function overheadResources({ spec }: Pod, node: NodeResources): LinuxContainerResources {
  if (!spec.overhead) return {};
  const overhead = toTotals(spec.overhead);
  return linuxResources(overhead, overhead, node);
}

/** kubelet: kuberuntime/kuberuntime_container_linux.go calculateLinuxResources */
function linuxResources(
  requests: ResourceTotals,
  limits: ResourceTotals,
  node: NodeResources,
): LinuxContainerResources {
  const isGroupKilled = node.cgroupVersion === 2 && !node.singleProcessOOMKill;
  return {
    cpuShares: milliCPUToShares(milliCPU(requests.has('cpu') ? requests : limits)),
    ...(node.cpuCFSQuota && cpuQuota(milliCPU(limits), node.cpuCFSQuotaPeriodMicros)),
    memoryLimitInBytes: memoryBytes(limits),
    unified: isGroupKilled ? { 'memory.oom.group': '1' } : {},
  };
}

function cpuQuota(limitMilliCPU: bigint, periodMicros: number): LinuxContainerResources {
  return { cpuQuota: milliCPUToQuota(limitMilliCPU, periodMicros), cpuPeriod: periodMicros };
}

/**
 * A Burstable container gets swap in proportion to its memory request. Other containers and pods with system priority
 * get none. In the kubelet static pods are critical and never swap. kubelet: kuberuntime/kuberuntime_container_linux.go
 * GetContainerSwapBehavior, calcSwapForBurstablePods
 */
function swapLimit(pod: Pod, { resources }: Container, node: NodeResources): bigint {
  if (podQOSClass(pod) !== 'Burstable' || hasSystemPriority(pod)) return 0n;
  const request = memoryBytes(toTotals(resources?.requests));
  if (request === memoryBytes(toTotals(resources?.limits))) return 0n;
  const share = Number(request) / Number(node.memoryCapacityBytes);
  return BigInt(Math.trunc(share * Number(node.swapForPodsBytes)));
}

/** On cgroup v1 pods never swap, whatever swapBehavior is. */
function noSwap({ memoryLimitInBytes = 0n }: LinuxContainerResources): LinuxContainerResources {
  return { memorySwapLimitInBytes: memoryLimitInBytes };
}

/** One entry for each of the machine's sizes, because a missing size would be unlimited. */
function hugepageLimits(limits: ResourceTotals, sizes: readonly bigint[]) {
  const allowed = hugePageLimits(limits);
  return sizes.map((size) => ({ pageSize: hugePageSizeName(size), limit: allowed.get(size) ?? 0n }));
}

/** What a container has without MemoryQoS. */
export const noMemoryQoS = { 'memory.min': '0', 'memory.low': '0', 'memory.high': 'max' };

/** kubelet: kuberuntime/kuberuntime_container_linux.go generateLinuxContainerResources */
function memoryQoS(pod: Pod, { resources }: Container, settings: MemoryQoS): Record<string, string> {
  const request = memoryBytes(toTotals(resources?.requests));
  const limit = memoryBytes(toTotals(resources?.limits));
  const high = request === limit ? 0 : memoryHigh(Number(request), Number(limit), settings);
  return { ...memoryReservation(pod, request, settings), ...(high > request && { 'memory.high': String(high) }) };
}

/** A Guaranteed pod always keeps its memory. A Burstable pod gives it up before the node runs out of memory. */
function memoryReservation(pod: Pod, request: bigint, { reservesMemory }: MemoryQoS): Record<string, string> {
  if (!reservesMemory) return { 'memory.min': '0', 'memory.low': '0' };
  if (request === 0n) return {};
  return { [podQOSClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) };
}

function memoryHigh(request: number, limit: number, settings: MemoryQoS): number {
  const { throttlingFactor, allocatableMemoryBytes } = settings;
  const ceiling = limit === 0 ? Number(allocatableMemoryBytes) : limit;
  return Math.floor((request + throttlingFactor * (ceiling - request)) / pageSizeBytes) * pageSizeBytes;
}
