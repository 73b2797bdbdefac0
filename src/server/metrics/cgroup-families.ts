import type { CgroupDetails, DeviceUsage } from '../../engine/stats/cgroup-details.ts';
import type { DiskCounters } from '../../engine/stats/disk-counters.ts';
import type { MeasuredCgroup } from '../../engine/stats/measured-cgroups.ts';
import type { InterfaceCounters } from '../../engine/stats/network-stats.ts';
import type { Usage } from './cadvisor-usages.ts';
import type { Family, LongFamily, Sample } from './family.ts';
import type { MachineFacts } from './machine.ts';
import { memoized } from './memoized.ts';

/** Adds a metric; a metric without a value is left out. */
type Add = (value: number | undefined, extraLabels?: Sample['labels']) => void;
type Row = Pick<Usage, 'labels'> & { cgroup: MeasuredCgroup; at: number };
type Reader = (cgroup: MeasuredCgroup) => number | undefined;

/** Families that files of cgroups give. kubelet: cadvisor metrics/prometheus.go */
export function cgroupFamilies(usages: readonly Usage[], machine: MachineFacts): LongFamily[] {
  const rows = usages.flatMap(({ labels, cgroup }): Row[] =>
    cgroup === undefined ? [] : [{ labels, cgroup, at: Date.parse(cgroup.time) }],
  );
  const deviceLabels = memoized((name) => ({ device: name === '' ? '' : `/dev/${name}` }));
  const interfaceLabels = memoized((name) => ({ interface: name }));
  const disks = rows.flatMap(({ cgroup }) => cgroup.disks ?? []);
  const family = (
    name: string,
    type: Family['type'],
    help: string,
    read: (cgroup: MeasuredCgroup, add: Add) => void,
    hasTime = true,
  ): LongFamily => ({
    name: `container_${name}`,
    type,
    help,
    each: (emit) => {
      for (const { labels, cgroup, at } of rows) {
        read(cgroup, (value, extraLabels) => {
          if (value !== undefined) emit(labels, extraLabels, value, hasTime ? at : undefined);
        });
      }
    },
  });
  const plain = (read: Reader) => (cgroup: MeasuredCgroup, add: Add) => {
    add(read(cgroup));
  };
  const gauge = (name: string, help: string, read: Reader): LongFamily => family(name, 'gauge', help, plain(read));
  const counter = (name: string, help: string, read: Reader): LongFamily => family(name, 'counter', help, plain(read));
  // Limits are facts, without a time at which they were measured.
  const spec = (name: string, help: string, read: Reader): LongFamily =>
    family(`spec_${name}`, 'gauge', help, plain(read), false);
  /** Of pods and containers by device, and of the node as its disks count it. */
  const io = (
    name: string,
    type: Family['type'],
    help: string,
    {
      ofNode,
      ofDevice,
    }: { ofNode?: (disk: DiskCounters) => number; ofDevice?: (of: DeviceUsage) => number | undefined },
  ): LongFamily =>
    family(`fs_${name}`, type, help, ({ of, details }, add) => {
      if (ofNode !== undefined && of === 'node') for (const disk of disks) add(ofNode(disk), deviceLabels(disk.name));
      else if (ofDevice !== undefined)
        for (const one of details.devices) add(ofDevice(one), deviceLabels(deviceName(disks, one)));
    });
  const network = (name: string, help: string, read: (of: InterfaceCounters) => number): LongFamily =>
    family(`network_${name}_total`, 'counter', `Cumulative count of packets ${help}`, ({ interfaces = [] }, add) => {
      for (const one of interfaces) add(read(one), interfaceLabels(one.name));
    });
  return [
    counter(
      'cpu_cfs_burst_periods_total',
      'Number of periods when burst occurs.',
      limited((cpu) => cpu.burstPeriods),
    ),
    counter(
      'cpu_cfs_burst_seconds_total',
      'Total time duration the container has been bursted.',
      limited((cpu) => cpu.burstSeconds),
    ),
    counter(
      'cpu_cfs_periods_total',
      'Number of elapsed enforcement period intervals.',
      limited((cpu) => cpu.periods),
    ),
    counter(
      'cpu_cfs_throttled_periods_total',
      'Number of throttled period intervals.',
      limited((cpu) => cpu.throttledPeriods),
    ),
    counter(
      'cpu_cfs_throttled_seconds_total',
      'Total time duration the container has been throttled.',
      limited((cpu) => cpu.throttledSeconds),
    ),
    counter('cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.', (of) => {
      return of.details.cpu.systemSeconds;
    }),
    counter('cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.', (of) => {
      return of.details.cpu.userSeconds;
    }),
    io('io_current', 'gauge', 'Number of I/Os currently in progress', { ofNode: (disk) => disk.inProgress }),
    io('io_time_seconds_total', 'counter', 'Cumulative count of seconds spent doing I/Os', {
      ofNode: (disk) => disk.ioSeconds,
    }),
    io('io_time_weighted_seconds_total', 'counter', 'Cumulative weighted I/O time in seconds', {
      ofNode: (disk) => disk.weightedSeconds,
    }),
    io('read_seconds_total', 'counter', 'Cumulative count of seconds spent reading', {
      ofNode: (disk) => disk.readSeconds,
    }),
    io('reads_bytes_total', 'counter', 'Cumulative count of bytes read', { ofDevice: (one) => one.readBytes }),
    io('reads_merged_total', 'counter', 'Cumulative count of reads merged', { ofNode: (disk) => disk.readsMerged }),
    io('reads_total', 'counter', 'Cumulative count of reads completed', {
      ofNode: (disk) => disk.reads,
      ofDevice: (one) => one.reads,
    }),
    io('sector_reads_total', 'counter', 'Cumulative count of sector reads completed', {
      ofNode: (disk) => disk.sectorsRead,
    }),
    io('sector_writes_total', 'counter', 'Cumulative count of sector writes completed', {
      ofNode: (disk) => disk.sectorsWritten,
    }),
    io('write_seconds_total', 'counter', 'Cumulative count of seconds spent writing', {
      ofNode: (disk) => disk.writeSeconds,
    }),
    io('writes_bytes_total', 'counter', 'Cumulative count of bytes written', { ofDevice: (one) => one.writtenBytes }),
    io('writes_merged_total', 'counter', 'Cumulative count of writes merged', { ofNode: (disk) => disk.writesMerged }),
    io('writes_total', 'counter', 'Cumulative count of writes completed', {
      ofNode: (disk) => disk.writes,
      ofDevice: (one) => one.writes,
    }),
    gauge('memory_cache', 'Number of bytes of page cache memory.', memory('cacheBytes')),
    counter('memory_failcnt', 'Number of memory usage hits limits', memory('failures')),
    gauge('memory_kernel_usage', 'Size of kernel memory allocated in bytes.', memory('kernelBytes')),
    gauge('memory_mapped_file', 'Size of memory mapped files in bytes.', memory('mappedFileBytes')),
    gauge('memory_max_usage_bytes', 'Maximum memory usage recorded in bytes', memory('maxUsageBytes')),
    gauge('memory_total_active_file_bytes', 'Current total active file in bytes.', memory('activeFileBytes')),
    gauge('memory_total_inactive_file_bytes', 'Current total inactive file in bytes.', memory('inactiveFileBytes')),
    network('receive_packets_dropped', 'dropped while receiving', (one) => one.rxDropped),
    network('receive_packets', 'received', (one) => one.rxPackets),
    network('transmit_packets_dropped', 'dropped while transmitting', (one) => one.txDropped),
    network('transmit_packets', 'transmitted', (one) => one.txPackets),
    counter('oom_events_total', 'Count of out of memory events observed for the container', memory('oomKills')),
    spec('cpu_period', 'CPU period of the container.', ({ details }) => details.cpu.periodMicros),
    spec('cpu_quota', 'CPU quota of the container.', ({ details }) => details.cpu.quotaMicros),
    spec('cpu_shares', 'CPU share of the container.', ({ details }) => details.cpu.shares),
    spec('memory_limit_bytes', 'Memory limit for the container.', (cgroup) =>
      cgroup.of === 'node' ? machine.memoryBytes : cgroup.details.memory.limitBytes,
    ),
    spec('memory_reservation_limit_bytes', 'Memory reservation limit for the container.', memory('reservationBytes')),
    spec('memory_swap_limit_bytes', 'Memory swap limit for the container.', (cgroup) =>
      cgroup.of === 'node' ? machine.swapBytes : cgroup.details.memory.swapLimitBytes,
    ),
    gauge('threads', 'Number of threads running inside the container', ({ details }) => details.threads),
    gauge(
      'threads_max',
      'Maximum number of threads allowed inside the container, infinity if value is zero',
      ({ details }) => details.maxThreads,
    ),
    family('ulimits_soft', 'gauge', ulimitsHelp, ({ openFilesLimit }, add) => {
      add(openFilesLimit, openFiles);
    }),
  ];
}

const ulimitsHelp = 'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice';
const openFiles = { ulimit: 'max_open_files' };

const memory =
  (name: keyof CgroupDetails['memory']): Reader =>
  ({ details }) =>
    details.memory[name];

/** Without a quota, nothing is throttled. */
const limited =
  (read: (cpu: CgroupDetails['cpu']) => number | undefined): Reader =>
  ({ details }) =>
    details.cpu.quotaMicros === undefined ? undefined : read(details.cpu);

function deviceName(disks: readonly DiskCounters[], { device }: DeviceUsage): string {
  return disks.find(({ number }) => number === device)?.name ?? '';
}
