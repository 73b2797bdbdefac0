import { type CgroupDetails, readCgroupDetails } from './cgroup-details.ts';
import { type CgroupUsage, readCgroupUsage, readCPU } from './cgroup-usage.ts';
import { type DiskCounters, diskCounters } from './disk-counters.ts';
import { cpuStats, memoryStats } from './usage-stats.ts';
import type { IdleCgroups } from './idle-cgroups.ts';
import type { KeptFiles } from './kept-files.ts';
import { type KernelFiles, numberOf } from './kernel-files.ts';
import { interfaceCounters, type InterfaceCounters } from './network-stats.ts';
import type { PodCgroupPaths } from './pod-cgroup-paths.ts';
import type { StatsHost } from './stats-host.ts';
import type { StatsPod } from './stats-pods.ts';
import type { CPUStats, MemoryStats, PodStats } from './summary.ts';

/** A cgroup in full detail, for /metrics/cadvisor. */
export interface MeasuredCgroup {
  of: 'node' | 'pods' | 'pod' | 'sandbox' | 'container';
  /** Path below the mount, `/` for the node. */
  path: string;
  time: string;
  /** Absent for the node and for all pods together. */
  pod?: PodStats['podRef'];
  /** Name of a container. */
  container?: string;
  /** Name of a container or sandbox in the runtime. */
  runtimeID?: string;
  startTime?: string;
  /** Usage that summaries do not have: that of sandboxes, and of all pods together. */
  usage?: { cpu?: CPUStats; memory?: MemoryStats };
  details: CgroupDetails;
  /** Processes of a container or sandbox, without those of the cgroups below. */
  processes?: number;
  /** How many files the first process may open. -1 if there is no limit. */
  openFilesLimit?: number;
  /** Set only for the node. */
  disks?: DiskCounters[];
  /** Set for the node, and for a sandbox with its own network. */
  interfaces?: InterfaceCounters[];
}

/** Values that stay the same while no process of the cgroup runs. */
export interface StillValues {
  details: CgroupDetails;
  /** Absent if summaries have it. */
  usage?: CgroupUsage | undefined;
  /** Absent for a cgroup that contains only cgroups. */
  processes?: Processes;
}

/** The processes of a cgroup, without those of the cgroups below. */
interface Processes {
  count: number;
  openFilesLimit?: number | undefined;
  /** The first process. Absent if it is in another PID namespace. */
  pid?: string;
}

interface Request {
  /** Files below /proc, and lists. */
  files: KernelFiles;
  cgroupFiles: Pick<KeptFiles, 'read' | 'readNumber'>;
  idle: Pick<IdleCgroups<StillValues>, 'valuesOf'>;
  host: Pick<StatsHost, 'cgroups' | 'procFolder'>;
  paths: Pick<PodCgroupPaths, 'ofPod' | 'ofContainer'>;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Measures the node, and all pods together, whose cgroup has this path. */
export function measureNode(request: Request, podsCgroup: string): MeasuredCgroup[] {
  const { files, host } = request;
  const { measured: node } = measure(request, { of: 'node', path: '/' });
  const interfaces = interfaceCounters(files.readList(`${host.procFolder}/1/net/dev`) ?? '');
  const pods = { of: 'pods', path: podsCgroup } as const;
  return [
    { ...node, interfaces, disks: diskCounters(files.readList(`${host.procFolder}/diskstats`) ?? '') },
    ...(podsCgroup === '' || podsCgroup === '/' ? [] : [measure(request, pods, { usage: true }).measured]),
  ];
}

/**
 * Measures a pod with its sandbox and running containers. Empty for a pod without a cgroup, such as one in a virtual
 * machine.
 */
export function measurePod(
  request: Request,
  { uid, name, namespace, startedAt, sandboxID, hasNetwork, containers }: StatsPod,
): MeasuredCgroup[] {
  const { files, host, paths } = request;
  const path = paths.ofPod(uid);
  if (path === undefined) return [];
  const [pod, startTime] = [{ name, namespace, uid }, new Date(startedAt).toISOString()];
  const all = [measure(request, { of: 'pod', path, pod, startTime }).measured];
  const sandboxPath = paths.ofContainer(uid, sandboxID);
  if (sandboxPath !== undefined) {
    const names = { of: 'sandbox', path: sandboxPath, pod, runtimeID: sandboxID, startTime } as const;
    const { measured, pid } = measure(request, names, { usage: true, processes: true });
    const isShown = hasNetwork && pid !== undefined;
    const interfaces = isShown ? interfaceCounters(files.readList(`${host.procFolder}/${pid}/net/dev`) ?? '') : [];
    all.push({ ...measured, interfaces });
  }
  for (const container of containers) {
    const ownPath = paths.ofContainer(uid, container.id);
    if (ownPath === undefined) continue;
    const names = { of: 'container', path: ownPath, pod, container: container.name, runtimeID: container.id } as const;
    const ownStart = new Date(container.startedAt).toISOString();
    all.push(measure(request, { ...names, startTime: ownStart }, { processes: true }).measured);
  }
  return all;
}

/** Values of a cgroup that need more files. */
interface Wanted {
  usage?: boolean;
  processes?: boolean;
}

function measure(
  request: Request,
  named: Omit<MeasuredCgroup, 'time' | 'details'>,
  wanted: Wanted = {},
): { measured: MeasuredCgroup; pid: string | undefined } {
  const { cgroupFiles, idle, host, now } = request;
  const path = named.path === '/' ? '' : named.path;
  const cpuNanos = readCPU(cgroupFiles, host.cgroups.cpu, path);
  const { details, usage, processes } = idle.valuesOf(path, cpuNanos, () =>
    readStillValues(request, path, cpuNanos, wanted),
  );
  const measured: MeasuredCgroup = { ...named, time: new Date(now).toISOString(), details };
  if (usage !== undefined) measured.usage = usageStats(usage, measured.time);
  if (processes !== undefined) measured.processes = processes.count;
  if (processes?.openFilesLimit !== undefined) measured.openFilesLimit = processes.openFilesLimit;
  return { measured, pid: processes?.pid };
}

function readStillValues(
  request: Request,
  path: string,
  cpuNanos: number | undefined,
  { usage = false, processes = false }: Wanted,
): StillValues {
  const { cgroupFiles, host } = request;
  return {
    details: readCgroupDetails(cgroupFiles, host.cgroups, path),
    ...(usage && { usage: readCgroupUsage(cgroupFiles, host.cgroups, { cgroup: path, cpuNanos, wanted: {} }) }),
    ...(processes && { processes: processesOf(request, path) }),
  };
}

function usageStats(cgroup: CgroupUsage, time: string): NonNullable<MeasuredCgroup['usage']> {
  const [cpu, memory] = [cpuStats({ time, cgroup, usageNanoCores: undefined }), memoryStats(cgroup, time)];
  return { ...(cpu && { cpu }), ...(memory && { memory }) };
}

/** kubelet: cadvisor container/libcontainer/handler.go processStatsFromProcs, processLimitsFile */
function processesOf({ files, host }: Request, path: string): Processes {
  const top = (host.cgroups.memory ?? host.cgroups.cpu)?.top;
  const pids = (top === undefined ? '' : (files.readList(`${top}${path}/cgroup.procs`) ?? '')).match(/^\d+$/gm) ?? [];
  const [pid] = pids;
  // A process in another PID namespace is listed as 0.
  if (pid === undefined || pid === '0') return { count: pids.length };
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(files.read(`${host.procFolder}/${pid}/limits`) ?? '')?.[1];
  return { count: pids.length, openFilesLimit: limit === 'unlimited' ? -1 : numberOf(limit), pid };
}
