import { type CgroupDetails, readCgroupDetails } from './cgroup-details.ts';
import { readCgroupUsage } from './cgroup-usage.ts';
import { type DiskCounters, diskCounters } from './disk-counters.ts';
import { cpuStats, memoryStats } from './figures.ts';
import type { KeptFiles } from './kept-files.ts';
import { type KernelFiles, numberOf } from './kernel-files.ts';
import { interfaceCounters, type InterfaceCounters } from './network-stats.ts';
import type { PodCgroupPaths } from './pod-cgroup-paths.ts';
import type { StatsHost } from './stats-host.ts';
import type { StatsPod } from './stats-pods.ts';
import type { CPUStats, MemoryStats, PodStats } from './summary.ts';

/** A cgroup in all detail, for /metrics/cadvisor. */
export interface MeasuredCgroup {
  of: 'node' | 'pods' | 'pod' | 'sandbox' | 'container';
  /** Path below the mount, `/` for the node. */
  path: string;
  time: string;
  /** Absent for the node and for all pods together. */
  pod?: PodStats['podRef'];
  /** Name of a container. */
  container?: string;
  /** A container or sandbox as the runtime names it. */
  runtimeID?: string;
  startTime?: string;
  /** Usage that no summary has: of sandboxes, and of all pods together. */
  usage?: { cpu?: CPUStats; memory?: MemoryStats };
  details: CgroupDetails;
  /** Of a container or sandbox, not of the cgroups below. */
  processes?: number;
  /** Most files that the first process may open. -1 without a limit. */
  openFilesLimit?: number;
  /** Of the node alone. */
  disks?: DiskCounters[];
  /** Of the node, and of a sandbox with a network of its own. */
  interfaces?: InterfaceCounters[];
}

interface Request {
  /** Files below /proc, and lists. */
  files: KernelFiles;
  cgroupFiles: Pick<KeptFiles, 'read' | 'readNumber'>;
  host: Pick<StatsHost, 'cgroups' | 'procFolder'>;
  paths: Pick<PodCgroupPaths, 'ofPod' | 'ofContainer'>;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The node, and all pods together at this path. */
export function measureNode(request: Request, podsCgroup: string): MeasuredCgroup[] {
  const { files, host } = request;
  const node = measure(request, { of: 'node', path: '/' });
  const interfaces = interfaceCounters(files.readList(`${host.procFolder}/1/net/dev`) ?? '');
  return [
    { ...node, interfaces, disks: diskCounters(files.readList(`${host.procFolder}/diskstats`) ?? '') },
    ...(podsCgroup === '' || podsCgroup === '/' ? [] : [withUsage(request, { of: 'pods', path: podsCgroup })]),
  ];
}

/** A pod with its sandbox and running containers. Empty for a pod without a cgroup, as one in a virtual machine. */
export function measurePod(
  request: Request,
  { uid, name, namespace, startedAt, sandboxID, hasNetwork, containers }: StatsPod,
): MeasuredCgroup[] {
  const { files, host, paths } = request;
  const path = paths.ofPod(uid);
  if (path === undefined) return [];
  const [pod, startTime] = [{ name, namespace, uid }, new Date(startedAt).toISOString()];
  const measured = [measure(request, { of: 'pod', path, pod, startTime })];
  const sandboxPath = paths.ofContainer(uid, sandboxID);
  if (sandboxPath !== undefined) {
    const sandbox = withUsage(request, { of: 'sandbox', path: sandboxPath, pod, runtimeID: sandboxID, startTime });
    const { pid, figures } = processesOf(request, sandboxPath);
    const isShown = hasNetwork && pid !== undefined;
    const interfaces = isShown ? interfaceCounters(files.readList(`${host.procFolder}/${pid}/net/dev`) ?? '') : [];
    measured.push({ ...sandbox, ...figures, interfaces });
  }
  for (const container of containers) {
    const ownPath = paths.ofContainer(uid, container.id);
    if (ownPath === undefined) continue;
    const { figures } = processesOf(request, ownPath);
    const names = { of: 'container', path: ownPath, pod, container: container.name, runtimeID: container.id } as const;
    measured.push({
      ...measure(request, { ...names, startTime: new Date(container.startedAt).toISOString() }),
      ...figures,
    });
  }
  return measured;
}

type Named = Omit<MeasuredCgroup, 'time' | 'details'>;

function measure({ cgroupFiles, host, now }: Request, named: Named): MeasuredCgroup {
  const details = readCgroupDetails(cgroupFiles, host.cgroups, named.path === '/' ? '' : named.path);
  return { ...named, time: new Date(now).toISOString(), details };
}

function withUsage(request: Request, named: Named): MeasuredCgroup {
  const measured = measure(request, named);
  const { time } = measured;
  const cgroup = readCgroupUsage(request.cgroupFiles, request.host.cgroups, named.path, {});
  if (cgroup === undefined) return measured;
  const [cpu, memory] = [cpuStats({ time, cgroup, usageNanoCores: undefined }), memoryStats(cgroup, time)];
  return { ...measured, usage: { ...(cpu && { cpu }), ...(memory && { memory }) } };
}

/** kubelet: cadvisor container/libcontainer/handler.go processStatsFromProcs, processLimitsFile */
function processesOf(
  { files, host }: Request,
  path: string,
): { pid?: string; figures: Pick<MeasuredCgroup, 'processes' | 'openFilesLimit'> } {
  const top = (host.cgroups.memory ?? host.cgroups.cpu)?.top;
  const pids = (top === undefined ? '' : (files.readList(`${top}${path}/cgroup.procs`) ?? '')).match(/^\d+$/gm) ?? [];
  const [pid] = pids;
  // A process of another PID namespace is listed as 0.
  if (pid === undefined || pid === '0') return { figures: { processes: pids.length } };
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(files.read(`${host.procFolder}/${pid}/limits`) ?? '')?.[1];
  const openFilesLimit = limit === 'unlimited' ? -1 : numberOf(limit);
  return { pid, figures: { processes: pids.length, ...(openFilesLimit !== undefined && { openFilesLimit }) } };
}
