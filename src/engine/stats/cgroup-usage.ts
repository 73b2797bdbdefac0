import type { CgroupSource, CgroupSources } from './cgroup-sources.ts';
import { keyedNumber, numberOf } from './kernel-files.ts';
import type { KeptFiles } from './kept-files.ts';
import type { PSIData, PSIStats } from './summary.ts';

/** Usage of one cgroup with everything below it. Values that the kernel does not count are absent. */
export interface CgroupUsage {
  /** CPU time in nanoseconds. */
  cpuNanos?: number;
  memory?: CgroupMemory;
  /** Number of processes and threads. */
  tasks?: number;
  psi?: { cpu?: PSIStats; memory?: PSIStats; io?: PSIStats };
}

export interface CgroupMemory {
  usageBytes: number;
  /** Usage without the inactive file cache. */
  workingSetBytes: number;
  rssBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
  /** Absent if there is no limit. */
  limitBytes?: number;
  swapBytes?: number;
  /** Absent if there is no limit. In version 1 it limits memory and swap together. */
  swapLimitBytes?: number;
}

/** Larger limits mean no limit. kubelet: stats/helper.go maxMemorySize */
const maxLimitBytes = 2 ** 62;

/** What to read in addition to CPU time and memory. Each needs more files. */
export interface WantedUsage {
  tasks?: boolean;
  /** `unused` on a machine without swap: the usage is 0. */
  swap?: 'measured' | 'unused';
  pressure?: boolean;
}

/** Values that hardly change while no process of the cgroup runs. */
export type StillUsage = Pick<CgroupUsage, 'memory' | 'tasks'>;

/**
 * Returns the usage of a cgroup with this CPU time. Returns undefined if no hierarchy has it. `still` reuses the still
 * values of an idle cgroup, or reads them. By default they are always read.
 */
export function readCgroupUsage(
  files: Pick<KeptFiles, 'read' | 'readNumber'>,
  sources: CgroupSources,
  { cgroup, cpuNanos, wanted }: { cgroup: string; cpuNanos: number | undefined; wanted: WantedUsage },
  still: (read: () => StillUsage) => StillUsage = (read) => read(),
): CgroupUsage | undefined {
  const { memory, tasks } = still(() => readStill(files, sources, cgroup, wanted));
  if (cpuNanos === undefined && memory === undefined) return undefined;
  const usage: CgroupUsage = {};
  if (cpuNanos !== undefined) usage.cpuNanos = cpuNanos;
  if (memory !== undefined) usage.memory = memory;
  if (tasks !== undefined) usage.tasks = tasks;
  const psi = wanted.pressure && sources.pressure !== undefined && readPressure(files, `${sources.pressure}${cgroup}`);
  if (psi) usage.psi = psi;
  return usage;
}

function readStill(
  files: Pick<KeptFiles, 'read' | 'readNumber'>,
  { memory, pids }: CgroupSources,
  cgroup: string,
  wanted: WantedUsage,
): StillUsage {
  const still: StillUsage = {};
  const read = memory && readMemory(files, memory, cgroup, wanted.swap);
  if (read !== undefined) still.memory = read;
  const tasks = wanted.tasks && pids && files.readNumber(`${pids.top}${cgroup}/pids.current`);
  if (typeof tasks === 'number') still.tasks = tasks;
  return still;
}

/** Reads the CPU time in nanoseconds. Returns undefined if it is not counted. */
export function readCPU(
  files: Pick<KeptFiles, 'read' | 'readNumber'>,
  source: CgroupSource | undefined,
  cgroup: string,
): number | undefined {
  if (source === undefined) return undefined;
  const { version, top } = source;
  if (version === 1) return files.readNumber(`${top}${cgroup}/cpuacct.usage`);
  const micros = keyedNumber(files.read(`${top}${cgroup}/cpu.stat`) ?? '', 'usage_usec');
  return micros === undefined ? undefined : micros * 1000;
}

/** kubelet: cadvisor container/libcontainer/handler.go setMemoryStats */
function readMemory(
  files: Pick<KeptFiles, 'read' | 'readNumber'>,
  { version, top }: CgroupSource,
  cgroup: string,
  wantedSwap: WantedUsage['swap'],
): CgroupMemory | undefined {
  const folder = `${top}${cgroup}`;
  const names = version === 1 ? filesV1 : filesV2;
  const stat = files.read(`${folder}/memory.stat`) ?? '';
  const anonymous = keyedNumber(stat, names.anonymous);
  const usageBytes = files.readNumber(`${folder}/${names.usage}`);
  if (usageBytes === undefined) return undefined;
  const limitBytes = limitOf(files.read(`${folder}/${names.limit}`));
  const pageFaults = keyedNumber(stat, 'pgfault');
  const majorPageFaults = keyedNumber(stat, 'pgmajfault');
  const memory: CgroupMemory = {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - (keyedNumber(stat, names.inactiveFile) ?? 0)),
  };
  // Assigns one by one, because a sample has hundreds of these.
  if (anonymous !== undefined) memory.rssBytes = anonymous;
  if (pageFaults !== undefined) memory.pageFaults = pageFaults;
  if (majorPageFaults !== undefined) memory.majorPageFaults = majorPageFaults;
  if (limitBytes !== undefined) memory.limitBytes = limitBytes;
  if (wantedSwap === 'unused') memory.swapBytes = 0;
  if (wantedSwap !== 'measured') return memory;
  const swapBytes = version === 1 ? keyedNumber(stat, 'total_swap') : files.readNumber(`${folder}/memory.swap.current`);
  const swapLimitBytes = limitOf(files.read(`${folder}/${names.swapLimit}`));
  if (swapBytes !== undefined) memory.swapBytes = swapBytes;
  if (swapLimitBytes !== undefined) memory.swapLimitBytes = swapLimitBytes;
  return memory;
}

const filesV1 = {
  usage: 'memory.usage_in_bytes',
  limit: 'memory.limit_in_bytes',
  swapLimit: 'memory.memsw.limit_in_bytes',
  anonymous: 'total_rss',
  inactiveFile: 'total_inactive_file',
};
const filesV2: typeof filesV1 = {
  usage: 'memory.current',
  limit: 'memory.max',
  swapLimit: 'memory.swap.max',
  anonymous: 'anon',
  inactiveFile: 'inactive_file',
};

function limitOf(text: string | undefined): number | undefined {
  const bytes = numberOf(text);
  return bytes === undefined || bytes > maxLimitBytes ? undefined : bytes;
}

function readPressure(files: Pick<KeptFiles, 'read' | 'readNumber'>, folder: string): CgroupUsage['psi'] {
  const [cpu, memory, io] = ['cpu', 'memory', 'io'].map((resource) =>
    parsePressure(files.read(`${folder}/${resource}.pressure`)),
  );
  if (cpu === undefined && memory === undefined && io === undefined) return undefined;
  return { ...(cpu && { cpu }), ...(memory && { memory }), ...(io && { io }) };
}

/** Parses a pressure file. Returns undefined if the kernel does not measure it. */
function parsePressure(text: string | undefined): PSIStats | undefined {
  const some = pressureLine(text, 'some');
  // Older kernels do not report `full` for the CPU.
  return some && { some, full: pressureLine(text, 'full') ?? { total: 0, avg10: 0, avg60: 0, avg300: 0 } };
}

function pressureLine(text: string | undefined, kind: 'some' | 'full'): PSIData | undefined {
  const pattern = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)$`, 'm');
  const match = pattern.exec(text ?? '');
  if (match === null) return undefined;
  const [avg10 = 0, avg60 = 0, avg300 = 0, total = 0] = match.slice(1).map(Number);
  return { total, avg10, avg60, avg300 };
}
