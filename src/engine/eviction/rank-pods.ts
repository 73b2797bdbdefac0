import type { Pod, Volume } from '../../api/types.ts';
import type { EvictionSignal } from '../../api/values/eviction-thresholds.ts';
import { toQuantity } from '../../api/values/quantity.ts';
import type { FsStats } from '../stats/summary.ts';
import { type DiskLayout, diskOf, type UsagePart, usageParts } from './disk-layout.ts';
import type { PodUsage } from './node-summary.ts';

/** Usage of a pod. Returns undefined if unknown. */
export type UsageOf = (pod: Pod) => PodUsage | undefined;

type Order = (a: Pod, b: Pod) => number;

const nanosPerUnit = 1_000_000_000n;

/**
 * Returns the pods in the order of eviction for a signal. Those with unknown usage come first, then those beyond their
 * requests, then by priority, then by excess usage. kubelet: eviction/helpers.go rankMemoryPressure, rankPIDPressure,
 * rankDiskPressureFunc
 */
export function rankPods(pods: readonly Pod[], signal: EvictionSignal, usageOf: UsageOf, layout: DiskLayout): Pod[] {
  const orders = ordersFor(signal, usageOf, layout);
  return pods.toSorted((a, b) => orders.map((order) => order(a, b)).find((result) => result !== 0) ?? 0);
}

function ordersFor(signal: EvictionSignal, usageOf: UsageOf, layout: DiskLayout): Order[] {
  const disk = diskOf(signal);
  if (signal === 'pid.available') {
    const processes = ({ process_stats: stats }: PodUsage): bigint => BigInt(stats?.process_count ?? 0);
    return [byPriority, byMost(usageOf, processes)];
  }
  if (disk === undefined) {
    const excess = (usage: PodUsage, pod: Pod): bigint =>
      BigInt(usage.memory?.workingSetBytes ?? 0) * nanosPerUnit - requestedNanos(pod, 'memory');
    return [exceedingFirst(usageOf, excess), byPriority, byMost(usageOf, excess)];
  }
  const parts = usageParts(disk, layout);
  const isInodes = signal.endsWith('.inodesFree');
  const used = (usage: PodUsage, pod: Pod): bigint => {
    const { bytes, inodes } = podDiskUsage(usage, pod, parts);
    return BigInt(isInodes ? inodes : bytes) * nanosPerUnit;
  };
  // Inodes cannot be requested. Like the kubelet, the last comparison subtracts the request in bytes anyway.
  const excess = (usage: PodUsage, pod: Pod): bigint =>
    used(usage, pod) - (isInodes ? 0n : requestedNanos(pod, 'ephemeral-storage'));
  const larger = (usage: PodUsage, pod: Pod): bigint => used(usage, pod) - requestedNanos(pod, 'ephemeral-storage');
  return [exceedingFirst(usageOf, excess), byPriority, byMost(usageOf, larger)];
}

function byPriority(a: Pod, b: Pod): number {
  return (a.spec.priority ?? 0) - (b.spec.priority ?? 0);
}

function exceedingFirst(usageOf: UsageOf, excess: (usage: PodUsage, pod: Pod) => bigint): Order {
  return (a, b) => {
    const [left, right] = [usageOf(a), usageOf(b)];
    if (!left || !right) return firstIf(!left, !right);
    return firstIf(excess(left, a) > 0n, excess(right, b) > 0n);
  };
}

function byMost(usageOf: UsageOf, amount: (usage: PodUsage, pod: Pod) => bigint): Order {
  return (a, b) => {
    const [left, right] = [usageOf(a), usageOf(b)];
    if (!left || !right) return firstIf(!left, !right);
    const [more, less] = [amount(left, a), amount(right, b)];
    return more > less ? -1 : more < less ? 1 : 0;
  };
}

function firstIf(a: boolean, b: boolean): number {
  return Number(b) - Number(a);
}

/** kubelet: pkg/api/v1/resource/helpers.go GetResourceRequestQuantity */
function requestedNanos({ spec }: Pod, resource: 'memory' | 'ephemeral-storage'): bigint {
  const request = ({ resources }: { resources?: { requests?: Record<string, string> } }): bigint =>
    toQuantity(resources?.requests?.[resource]).nanos;
  const together = spec.containers.reduce((sum, container) => sum + request(container), 0n);
  const largest = (spec.initContainers ?? []).map(request).reduce((a, b) => (a > b ? a : b), together);
  return largest === 0n ? 0n : largest + toQuantity(spec.overhead?.[resource]).nanos;
}

/** Returns the disk usage of these parts of a pod. kubelet: eviction/helpers.go podDiskUsage */
function podDiskUsage(
  { containers, volume = [] }: PodUsage,
  { spec }: Pod,
  parts: readonly UsagePart[],
): { bytes: number; inodes: number } {
  const local = new Set((spec.volumes ?? []).filter(isLocal).map(({ name }) => name));
  const stats = [
    ...(parts.includes('rootfs') ? containers.map(({ rootfs }) => rootfs) : []),
    ...(parts.includes('logs') ? containers.map(({ logs }) => logs) : []),
    ...(parts.includes('volumes') ? volume.filter(({ name }) => local.has(name)) : []),
  ].filter((fs): fs is FsStats => fs !== undefined);
  return {
    bytes: stats.reduce((sum, { usedBytes = 0 }) => sum + usedBytes, 0),
    inodes: stats.reduce((sum, { inodesUsed = 0 }) => sum + inodesUsed, 0),
  };
}

/** kubelet: eviction/helpers.go localVolumeNames */
function isLocal({ hostPath, emptyDir, configMap, gitRepo }: Volume): boolean {
  return Boolean(hostPath ?? configMap ?? gitRepo) || (emptyDir !== undefined && emptyDir.medium !== 'Memory');
}
