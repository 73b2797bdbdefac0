import type { CgroupSource, CgroupSources } from './cgroup-sources.ts';
import { keyedNumber, type KernelFiles, numberOf } from './kernel-files.ts';

/** What a cgroup counts in addition to its usage, and its limits. Values that the kernel does not count are absent. */
export interface CgroupDetails {
  cpu: {
    userSeconds?: number | undefined;
    systemSeconds?: number | undefined;
    periods?: number | undefined;
    throttledPeriods?: number | undefined;
    throttledSeconds?: number | undefined;
    burstPeriods?: number | undefined;
    burstSeconds?: number | undefined;
    shares?: number | undefined;
    periodMicros?: number | undefined;
    /** CPU time per period. Absent if there is no limit. */
    quotaMicros?: number | undefined;
  };
  memory: {
    cacheBytes?: number | undefined;
    mappedFileBytes?: number | undefined;
    activeFileBytes?: number | undefined;
    inactiveFileBytes?: number | undefined;
    kernelBytes?: number | undefined;
    /** Largest usage so far. */
    maxUsageBytes?: number | undefined;
    /** How often the usage has reached the limit. */
    failures?: number | undefined;
    /** How many processes the kernel killed because memory ran out. */
    oomKills?: number | undefined;
    /** 0 if there is no limit, as for the other limits. */
    limitBytes?: number | undefined;
    reservationBytes?: number | undefined;
    swapLimitBytes?: number | undefined;
  };
  /** Number of processes and threads. */
  threads?: number | undefined;
  /** 0 if there is no limit. */
  maxThreads?: number | undefined;
  devices: DeviceUsage[];
}

/** How much was read from and written to a block device. */
export interface DeviceUsage {
  /** Major and minor number, such as `8:0`. */
  device: string;
  readBytes?: number | undefined;
  writtenBytes?: number | undefined;
  reads?: number | undefined;
  writes?: number | undefined;
}

type Files = Pick<KernelFiles, 'read' | 'readNumber'>;

/** USER_HZ, the unit of times in files of version 1. */
const ticksPerSecond = 100;
/** Larger limits mean no limit. kubelet: cadvisor metrics/prometheus.go specMemoryValue */
const maxLimitBytes = 2 ** 62;
/** How many block devices of a cgroup are read. */
const maxDevices = 64;

/** kubelet: cadvisor container/libcontainer/handler.go newContainerStats, container/common/helpers.go GetSpec */
export function readCgroupDetails(files: Files, sources: CgroupSources, cgroup: string): CgroupDetails {
  const { pids, io } = sources;
  return {
    cpu: { ...cpuTimes(files, sources.cpu, cgroup), ...cpuQuota(files, sources.quota, cgroup) },
    memory: sources.memory === undefined ? {} : memoryDetails(files, sources.memory, cgroup),
    threads: pids && files.readNumber(`${pids.top}${cgroup}/pids.current`),
    maxThreads: pids && limitOf(files.read(`${pids.top}${cgroup}/pids.max`)),
    devices: io === undefined ? [] : deviceUsages(files, io, cgroup),
  };
}

function cpuTimes(files: Files, source: CgroupSource | undefined, cgroup: string): CgroupDetails['cpu'] {
  if (source === undefined) return {};
  const isV1 = source.version === 1;
  const stat = files.read(`${source.top}${cgroup}/${isV1 ? 'cpuacct.stat' : 'cpu.stat'}`) ?? '';
  return {
    userSeconds: isV1 ? scaled(stat, 'user', ticksPerSecond) : scaled(stat, 'user_usec', 1e6),
    systemSeconds: isV1 ? scaled(stat, 'system', ticksPerSecond) : scaled(stat, 'system_usec', 1e6),
  };
}

function cpuQuota(files: Files, source: CgroupSource | undefined, cgroup: string): CgroupDetails['cpu'] {
  if (source === undefined) return {};
  const [isV1, folder] = [source.version === 1, `${source.top}${cgroup}`];
  const stat = files.read(`${folder}/cpu.stat`) ?? '';
  const [quota, period] = isV1
    ? [files.read(`${folder}/cpu.cfs_quota_us`), files.read(`${folder}/cpu.cfs_period_us`)]
    : (files.read(`${folder}/cpu.max`) ?? '').split(' ');
  const weight = isV1 ? undefined : files.readNumber(`${folder}/cpu.weight`);
  const periods = keyedNumber(stat, 'nr_periods');
  // Kernels before 5.14 have no bursts.
  const none = periods === undefined ? undefined : 0;
  return {
    periods,
    burstPeriods: keyedNumber(stat, 'nr_bursts') ?? none,
    burstSeconds: (isV1 ? scaled(stat, 'burst_time', 1e9) : scaled(stat, 'burst_usec', 1e6)) ?? none,
    throttledPeriods: keyedNumber(stat, 'nr_throttled'),
    throttledSeconds: isV1 ? scaled(stat, 'throttled_time', 1e9) : scaled(stat, 'throttled_usec', 1e6),
    // Version 2 has a weight of 1 to 10,000 instead of 2 to 262,144 shares.
    shares: isV1 ? files.readNumber(`${folder}/cpu.shares`) : weight && Math.trunc(2 + ((weight - 1) * 262142) / 9999),
    periodMicros: numberOf(period),
    quotaMicros: numberOf(quota),
  };
}

function memoryDetails(files: Files, { version, top }: CgroupSource, cgroup: string): CgroupDetails['memory'] {
  const folder = `${top}${cgroup}`;
  const stat = files.read(`${folder}/memory.stat`) ?? '';
  if (version === 1) {
    return {
      cacheBytes: keyedNumber(stat, 'total_cache'),
      mappedFileBytes: keyedNumber(stat, 'total_mapped_file'),
      activeFileBytes: keyedNumber(stat, 'total_active_file'),
      inactiveFileBytes: keyedNumber(stat, 'total_inactive_file'),
      kernelBytes: files.readNumber(`${folder}/memory.kmem.usage_in_bytes`),
      maxUsageBytes: files.readNumber(`${folder}/memory.max_usage_in_bytes`),
      failures: files.readNumber(`${folder}/memory.failcnt`),
      oomKills: keyedNumber(files.read(`${folder}/memory.oom_control`) ?? '', 'oom_kill'),
      limitBytes: limitOf(files.read(`${folder}/memory.limit_in_bytes`)),
      reservationBytes: limitOf(files.read(`${folder}/memory.soft_limit_in_bytes`)),
      swapLimitBytes: limitOf(files.read(`${folder}/memory.memsw.limit_in_bytes`)),
    };
  }
  const events = files.read(`${folder}/memory.events`) ?? '';
  return {
    cacheBytes: keyedNumber(stat, 'file'),
    mappedFileBytes: keyedNumber(stat, 'file_mapped'),
    activeFileBytes: keyedNumber(stat, 'active_file'),
    inactiveFileBytes: keyedNumber(stat, 'inactive_file'),
    kernelBytes: keyedNumber(stat, 'kernel'),
    maxUsageBytes: files.readNumber(`${folder}/memory.peak`),
    failures: keyedNumber(events, 'max'),
    oomKills: keyedNumber(events, 'oom_kill'),
    limitBytes: limitOf(files.read(`${folder}/memory.max`)),
    reservationBytes: limitOf(files.read(`${folder}/memory.high`)),
    swapLimitBytes: limitOf(files.read(`${folder}/memory.swap.max`)),
  };
}

function deviceUsages(files: Files, { version, top }: CgroupSource, cgroup: string): DeviceUsage[] {
  const folder = `${top}${cgroup}`;
  if (version === 1) {
    const bytes = v1Counters(files.read(`${folder}/blkio.throttle.io_service_bytes_recursive`));
    const operations = v1Counters(files.read(`${folder}/blkio.throttle.io_serviced_recursive`));
    return [...bytes].map(([device, { Read: readBytes, Write: writtenBytes }]) => {
      const { Read: reads, Write: writes } = operations.get(device) ?? {};
      return { device, readBytes, writtenBytes, reads, writes };
    });
  }
  const lines = (files.read(`${folder}/io.stat`) ?? '').split('\n', maxDevices);
  return lines.flatMap((line) => {
    const [device = '', ...pairs] = line.split(' ');
    // An idle device has a line without counters.
    if (!/^\d+:\d+$/.test(device) || !pairs.some((pair) => pair.startsWith('rbytes='))) return [];
    const counters = new Map(pairs.map((pair) => [pair.split('=')[0], numberOf(pair.split('=')[1])]));
    const [readBytes, writtenBytes] = [counters.get('rbytes'), counters.get('wbytes')];
    return [{ device, readBytes, writtenBytes, reads: counters.get('rios'), writes: counters.get('wios') }];
  });
}

/** Parses counters such as `8:0 Read 4096`, by device and then by operation. */
function v1Counters(text = ''): Map<string, Record<string, number>> {
  const devices = new Map<string, Record<string, number>>();
  for (const [, device = '', operation = '', value] of text.matchAll(/^(\d+:\d+) (Read|Write) (\d+)$/gm)) {
    if (!devices.has(device) && devices.size >= maxDevices) break;
    devices.set(device, { ...devices.get(device), [operation]: Number(value) });
  }
  return devices;
}

function scaled(stat: string, key: string, unit: number): number | undefined {
  const value = keyedNumber(stat, key);
  return value === undefined ? undefined : value / unit;
}

/** Parses a limit; 0 means none. Returns undefined if the kernel does not have this limit here. */
function limitOf(text: string | undefined): number | undefined {
  const limit = text?.trim() === 'max' ? 0 : numberOf(text);
  return limit !== undefined && limit > maxLimitBytes ? 0 : limit;
}
