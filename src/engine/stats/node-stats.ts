import { statSync } from 'node:fs';
import type { CgroupMemory, WantedUsage } from './cgroup-usage.ts';
import { keyedNumber } from './kernel-files.ts';
import { networkStats } from './network-stats.ts';
import { cpuStats, memoryStats, swapStats } from './usage-stats.ts';
import { parseProcessCgroup } from './process-cgroup.ts';
import type { ContainerStats, MemoryStats, NodeStats, RlimitStats, SwapStats } from './summary.ts';
import type { UsageReader } from './usage-reader.ts';

/** Values of the machine that come only from the kernel. */
export type KernelNodeStats = Omit<NodeStats, 'nodeName' | 'fs' | 'runtime'>;

interface NodeRequest {
  /** Path of the cgroup that contains all pods, below the mount. */
  podsCgroup: string;
  /** What to read of groups of processes. Empty if only CPU and memory are needed. */
  wanted: WantedUsage;
}

/** Reads the usage of the machine from its root cgroup and from /proc. kubelet: server/stats/summary.go Get */
export function readNodeStats(reader: UsageReader, { podsCgroup, wanted }: NodeRequest): KernelNodeStats {
  const { files, host } = reader;
  const isComplete = Object.keys(wanted).length > 0;
  const inProc = (name: string): string => files.read(`${host.procFolder}/${name}`) ?? '';
  const reading = reader.read({ cgroup: '', wanted: { pressure: isComplete } });
  const { time, cgroup } = reading;
  const memInfo = inProc('meminfo');
  const usage = cgroup?.memory ?? rootMemory(reader, memInfo);
  const memory = usage && machineMemory(memoryStats({ ...cgroup, memory: usage }, time), memInfo);
  const [cpu, swap, rlimit] = [cpuStats(reading), machineSwap(memInfo, time), readRlimit(reader, time)];
  const network = isComplete ? (files.readList(`${host.procFolder}/1/net/dev`) ?? '') : '';
  return {
    systemContainers: readSystemContainers(reader, { podsCgroup, wanted }),
    startTime: new Date((keyedNumber(inProc('stat'), 'btime') ?? 0) * 1000).toISOString(),
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...(isComplete && swap && { swap }),
    ...(isComplete && rlimit && { rlimit }),
    ...(network !== '' && { network: networkStats(network, time) }),
    ...(cgroup?.psi?.io && { io: { time, psi: cgroup.psi.io } }),
  };
}

/** True if the machine has swap. */
export function hasSwap({ files, host }: UsageReader): boolean {
  return memInfoBytes(files.read(`${host.procFolder}/meminfo`) ?? '', 'SwapTotal') !== 0;
}

/** kubelet: server/stats/summary_sys_containers.go GetSystemContainersStats */
function readSystemContainers(reader: UsageReader, { podsCgroup, wanted }: NodeRequest): ContainerStats[] {
  const cgroups = {
    pods: podsCgroup,
    kubelet: cgroupOf(reader, 'self'),
    runtime: cgroupOf(reader, reader.host.runtimePID()),
  };
  return Object.entries(cgroups).flatMap(([name, path]): ContainerStats[] => {
    if (path === undefined) return [];
    const reading = reader.read({ cgroup: path, wanted });
    const { time, cgroup } = reading;
    if (cgroup === undefined) return [];
    const [cpu, memory, swap] = [cpuStats(reading), memoryStats(cgroup, time), swapStats(cgroup, time)];
    return [
      {
        name,
        startTime: new Date(createdAt(reader, path)).toISOString(),
        ...(cpu && { cpu }),
        ...(memory && { memory }),
        ...(swap && { swap }),
        ...(cgroup.psi?.io && { io: { time, psi: cgroup.psi.io } }),
      },
    ];
  });
}

/** Returns the current cgroup of a process. Returns undefined if that is the root. */
function cgroupOf({ files, host }: UsageReader, pid: number | 'self' | undefined): string | undefined {
  return pid === undefined ? undefined : parseProcessCgroup(files.read(`${host.procFolder}/${pid}/cgroup`) ?? '');
}

/** Returns when a cgroup was created, in milliseconds since the epoch. */
function createdAt({ host }: UsageReader, cgroup: string): number {
  const top = (host.cgroups.memory ?? host.cgroups.cpu)?.top ?? '';
  return Math.trunc(statSync(`${top}${cgroup}/cgroup.procs`, { throwIfNoEntry: false })?.mtimeMs ?? 0);
}

/**
 * Returns the memory usage of the root cgroup, because in version 2 that does not count memory. kubelet: runc
 * fs2/memory.go rootStatsFromMeminfo
 */
function rootMemory({ files, host }: UsageReader, memInfo: string): CgroupMemory | undefined {
  const { memory } = host.cgroups;
  const stat = memory?.version === 2 ? (files.read(`${memory.top}/memory.stat`) ?? '') : '';
  const [anonymous, file] = [keyedNumber(stat, 'anon'), keyedNumber(stat, 'file')];
  if (anonymous === undefined || file === undefined) return memoryOfMemInfo(memInfo);
  const [pageFaults, majorPageFaults] = [keyedNumber(stat, 'pgfault'), keyedNumber(stat, 'pgmajfault')];
  return {
    usageBytes: anonymous + file,
    workingSetBytes: Math.max(0, anonymous + file - (keyedNumber(stat, 'inactive_file') ?? 0)),
    rssBytes: anonymous,
    ...(pageFaults !== undefined && { pageFaults }),
    ...(majorPageFaults !== undefined && { majorPageFaults }),
  };
}

/** Returns memory usage from /proc/meminfo, for when no cgroup counts it. */
function memoryOfMemInfo(memInfo: string): CgroupMemory | undefined {
  const [total, free] = [memInfoBytes(memInfo, 'MemTotal'), memInfoBytes(memInfo, 'MemFree')];
  if (total === undefined || free === undefined) return undefined;
  const inactiveFile = memInfoBytes(memInfo, 'Inactive(file)') ?? 0;
  const rssBytes = memInfoBytes(memInfo, 'AnonPages');
  return {
    usageBytes: total - free,
    workingSetBytes: Math.max(0, total - free - inactiveFile),
    ...(rssBytes !== undefined && { rssBytes }),
  };
}

/**
 * The available memory is the machine's memory less the working set, whatever limit the root cgroup reports. kubelet:
 * cadvisor container/common/helpers.go GetSpec
 */
function machineMemory(stats: MemoryStats | undefined, memInfo: string): MemoryStats | undefined {
  const total = memInfoBytes(memInfo, 'MemTotal');
  if (stats === undefined || total === undefined) return stats;
  return { ...stats, availableBytes: Math.max(0, total - (stats.workingSetBytes ?? 0)) };
}

function machineSwap(memInfo: string, time: string): SwapStats | undefined {
  const [total, free] = [memInfoBytes(memInfo, 'SwapTotal'), memInfoBytes(memInfo, 'SwapFree')];
  if (total === undefined || free === undefined) return undefined;
  return { time, swapAvailableBytes: free, swapUsageBytes: total - free };
}

/** kubelet: stats/pidlimit/pidlimit_linux.go Stats */
function readRlimit({ files, host }: UsageReader, time: string): RlimitStats | undefined {
  const limits = ['pid_max', 'threads-max'].flatMap(
    (name) => files.readNumber(`${host.procFolder}/sys/kernel/${name}`) ?? [],
  );
  const tasks = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(files.read(`${host.procFolder}/loadavg`) ?? '')?.[1];
  if (limits.length === 0 || tasks === undefined) return undefined;
  return { time, maxpid: Math.min(...limits), curproc: Number(tasks) };
}

function memInfoBytes(memInfo: string, key: string): number | undefined {
  const line = new RegExp(`^${key.replace(/[()]/g, '\\$&')}:\\s+(\\d+) kB$`, 'm').exec(memInfo)?.[1];
  return line === undefined ? undefined : Number(line) * 1024;
}
