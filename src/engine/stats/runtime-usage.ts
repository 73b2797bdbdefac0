import type * as cri from '../../cri/types.ts';
import type { InterfaceStats, MemoryStats, NetworkStats, SwapStats } from './summary.ts';

/** Values of a container as the runtime reports them. Impossible values are absent. */
export interface RuntimeContainerUsage {
  cpu?: RuntimeCPU;
  memory?: MemoryStats;
  swap?: SwapStats;
  writableLayer?: RuntimeDisk;
}

export interface RuntimePodUsage {
  cpu?: RuntimeCPU;
  memory?: MemoryStats;
  network?: NetworkStats;
  processCount?: number;
}

export interface RuntimeCPU {
  nanos: number;
  /** When it was measured, in milliseconds since the epoch. */
  at: number;
}

/** How much of a disk images or one writable layer use. */
export interface RuntimeDisk {
  time: string;
  /** A path on that disk. */
  mountpoint: string;
  usedBytes: number;
  inodesUsed?: number;
}

/** Larger counters are negative numbers that the runtime sent as unsigned. */
const maxCounter = 2n ** 62n;
/** The clock of a runtime in a virtual machine may differ a little. */
const maxAheadMs = 5000;

export function containerUsage(stats: cri.ContainerStats, now: number): RuntimeContainerUsage {
  const [cpu, memory, swap, writableLayer] = [
    cpuUsage(stats.cpu, now),
    memoryUsage(stats.memory, now),
    swapUsage(stats.swap, now),
    diskUsage(stats.writableLayer, now),
  ];
  return {
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...(swap && { swap }),
    ...(writableLayer && { writableLayer }),
  };
}

export function podUsage({ linux }: cri.PodSandboxStats, now: number): RuntimePodUsage {
  const [cpu, memory, network] = [
    cpuUsage(linux?.cpu, now),
    memoryUsage(linux?.memory, now),
    networkUsage(linux?.network, now),
  ];
  const processCount = counter(linux?.process?.processCount);
  return {
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...(network && { network }),
    ...(processCount !== undefined && { processCount }),
  };
}

export function diskUsage(usage: cri.FilesystemUsage | undefined, now: number): RuntimeDisk | undefined {
  const time = timeOf(usage?.timestamp, now);
  const usedBytes = counter(usage?.usedBytes);
  const inodesUsed = counter(usage?.inodesUsed);
  const mountpoint = usage?.fsId?.mountpoint ?? '';
  if (time === undefined || usedBytes === undefined || !mountpoint.startsWith('/')) return undefined;
  return { time, mountpoint, usedBytes, ...(inodesUsed !== undefined && { inodesUsed }) };
}

function cpuUsage(usage: cri.CpuUsage | undefined, now: number): RuntimeCPU | undefined {
  const at = trueTime(usage?.timestamp, now);
  const nanos = counter(usage?.usageCoreNanoSeconds);
  return at === undefined || nanos === undefined ? undefined : { nanos, at };
}

function memoryUsage(usage: cri.MemoryUsage | undefined, now: number): MemoryStats | undefined {
  const time = timeOf(usage?.timestamp, now);
  if (time === undefined) return undefined;
  return withCounters<MemoryStats>(
    { time },
    {
      availableBytes: usage?.availableBytes,
      usageBytes: usage?.usageBytes,
      workingSetBytes: usage?.workingSetBytes,
      rssBytes: usage?.rssBytes,
      pageFaults: usage?.pageFaults,
      majorPageFaults: usage?.majorPageFaults,
    },
  );
}

function swapUsage(usage: cri.SwapUsage | undefined, now: number): SwapStats | undefined {
  const time = timeOf(usage?.timestamp, now);
  if (time === undefined) return undefined;
  return withCounters<SwapStats>(
    { time },
    { swapAvailableBytes: usage?.swapAvailableBytes, swapUsageBytes: usage?.swapUsageBytes },
  );
}

function networkUsage(usage: cri.NetworkUsage | undefined, now: number): NetworkStats | undefined {
  const time = timeOf(usage?.timestamp, now);
  if (time === undefined) return undefined;
  const chosen = usage?.defaultInterface;
  return {
    time,
    ...(chosen ? interfaceUsage(chosen) : { name: '' }),
    interfaces: [...(chosen ? [chosen] : []), ...(usage?.interfaces ?? [])].map(interfaceUsage),
  };
}

function interfaceUsage({ name, rxBytes, rxErrors, txBytes, txErrors }: cri.NetworkInterfaceUsage): InterfaceStats {
  return withCounters<InterfaceStats>({ name }, { rxBytes, rxErrors, txBytes, txErrors });
}

/** Adds the counters with possible values. */
function withCounters<T extends object>(base: T, counters: Record<string, cri.UInt64Value | undefined>): T {
  const known = Object.entries(counters).flatMap(([name, value]) => {
    const figure = counter(value);
    return figure === undefined ? [] : [[name, figure] as const];
  });
  return { ...base, ...Object.fromEntries(known) };
}

function counter(value: cri.UInt64Value | undefined): number | undefined {
  return value === undefined || value.value < 0n || value.value > maxCounter ? undefined : Number(value.value);
}

function timeOf(nanos: bigint | undefined, now: number): string | undefined {
  const at = trueTime(nanos, now);
  return at === undefined ? undefined : new Date(at).toISOString();
}

/** Returns milliseconds since the epoch. Returns undefined if the time is missing or in the future. */
function trueTime(nanos: bigint | undefined, now: number): number | undefined {
  if (nanos === undefined || nanos <= 0n) return undefined;
  const at = Number(nanos / 1_000_000n);
  return at > now + maxAheadMs ? undefined : at;
}
