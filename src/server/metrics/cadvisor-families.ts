import type { Pod } from '../../api/types.ts';
import type { MeasuredCgroup } from '../../engine/stats/measured-cgroups.ts';
import type { FsStats, InterfaceStats, MemoryStats, PSIStats, Summary } from '../../engine/stats/summary.ts';
import { type Usage, usagesOf } from './cadvisor-usages.ts';
import { cgroupFamilies } from './cgroup-families.ts';
import type { Family, Sample } from './family.ts';
import type { MachineFacts } from './machine.ts';

/**
 * Metrics of /metrics/cadvisor: those that the statistics have. `pods` are those that are known now, for the ids and
 * images of containers. kubelet: cadvisor metrics/prometheus.go, prometheus_machine.go
 */
export function cadvisorFamilies(
  summary: Summary,
  cgroups: readonly MeasuredCgroup[],
  pods: readonly Pod[],
  machine: MachineFacts,
): Family[] {
  const usages = usagesOf(summary, cgroups, pods);
  const instantOf = memoized(Date.parse);
  function* samplesOf(read: Reader): Iterable<Sample> {
    for (const usage of usages) {
      for (const { value, time, further } of read(usage)) {
        // Figures of a runtime may have no time.
        const at = time === '' ? undefined : instantOf(time);
        if (value !== undefined) yield { labels: usage.labels, further, value, at };
      }
    }
  }
  const figures = (name: string, help: string, read: Reader, type: Family['type'] = 'gauge'): Family => ({
    name,
    type,
    help,
    samples: samplesOf(read),
  });
  const network = (name: string, help: string, read: (of: InterfaceStats) => number | undefined): Family =>
    figures(
      `container_network_${name}_total`,
      `Cumulative count of ${help}`,
      (usage) => perInterface(usage, read),
      'counter',
    );
  const facts = { machine_id: machine.machineID, system_uuid: machine.systemUUID, boot_id: machine.bootID };
  const plain = (name: string, help: string, value: number, labels: Sample['labels'] = {}): Family => ({
    name,
    type: 'gauge',
    help,
    samples: [{ labels, value }],
  });
  const pressures = (
    name: string,
    resource: string,
    of: (usage: Usage) => { time: string; psi?: PSIStats } | undefined,
  ): Family[] =>
    (['full', 'some'] as const).map((share) =>
      figures(
        `container_pressure_${name}_${share === 'full' ? 'stalled' : 'waiting'}_seconds_total`,
        share === 'full'
          ? `Total time duration no tasks in the container could make progress due to ${resource} congestion.`
          : `Total time duration tasks in the container have waited due to ${resource} congestion.`,
        (usage) => {
          const { time = '', psi } = of(usage) ?? {};
          return [{ value: psi && psi[share].total / 1e6, time }];
        },
        'counter',
      ),
    );
  const families = [
    ...cgroupFamilies(usages, machine),
    plain('cadvisor_version_info', versionHelp, 1, {
      kernelVersion: machine.kernelVersion,
      osVersion: machine.osVersion,
      dockerVersion: '',
      cadvisorVersion: '',
      cadvisorRevision: '',
    }),
    figures(
      'container_cpu_usage_seconds_total',
      'Cumulative cpu time consumed in seconds.',
      ({ cpu }) => [{ value: seconds(cpu?.usageCoreNanoSeconds), ...at(cpu), further: ofAllCPUs }],
      'counter',
    ),
    figures('container_fs_inodes_free', 'Number of available Inodes', ({ fs }) => ofDevice(fs, fs?.inodesFree)),
    figures('container_fs_inodes_total', 'Number of Inodes', ({ fs }) => ofDevice(fs, fs?.inodes)),
    figures(
      'container_fs_limit_bytes',
      'Number of bytes that can be consumed by the container on this filesystem.',
      ({ fs }) => ofDevice(fs, fs?.capacityBytes),
    ),
    figures(
      'container_fs_usage_bytes',
      'Number of bytes that are consumed by the container on this filesystem.',
      ({ fs }) => ofDevice(fs, fs?.usedBytes),
    ),
    figures('container_last_seen', 'Last time a container was seen by the exporter', ({ cpu, memory }) => {
      const time = cpu?.time ?? memory?.time;
      return time === undefined ? [] : [{ value: Math.floor(Date.parse(time) / 1000), time }];
    }),
    figures(
      'container_memory_failures_total',
      'Cumulative count of memory allocation failures.',
      ({ memory: { time, pageFaults, majorPageFaults } = noMemory }) => [
        { value: pageFaults, time, further: minorFaults },
        { value: majorPageFaults, time, further: majorFaults },
        // Both scopes count the processes below.
        { value: pageFaults, time, further: minorFaultsBelow },
        { value: majorPageFaults, time, further: majorFaultsBelow },
      ],
      'counter',
    ),
    figures('container_memory_rss', 'Size of RSS in bytes.', ({ memory }) => [
      { value: memory?.rssBytes, ...at(memory) },
    ]),
    figures('container_memory_swap', 'Container swap usage in bytes.', ({ swap }) => [
      { value: swap?.swapUsageBytes, ...at(swap) },
    ]),
    figures(
      'container_memory_usage_bytes',
      'Current memory usage in bytes, including all memory regardless of when it was accessed',
      ({ memory }) => [{ value: memory?.usageBytes, ...at(memory) }],
    ),
    figures('container_memory_working_set_bytes', 'Current working set in bytes.', ({ memory }) => [
      { value: memory?.workingSetBytes, ...at(memory) },
    ]),
    network('receive_bytes', 'bytes received', ({ rxBytes }) => rxBytes),
    network('receive_errors', 'errors encountered while receiving', ({ rxErrors }) => rxErrors),
    network('transmit_bytes', 'bytes transmitted', ({ txBytes }) => txBytes),
    network('transmit_errors', 'errors encountered while transmitting', ({ txErrors }) => txErrors),
    figures(
      'container_processes',
      'Number of processes running inside the container.',
      ({ processes, cpu, cgroup }) => [{ value: processes, ...at(cpu ?? cgroup) }],
    ),
    ...pressures('cpu', 'CPU', ({ cpu }) => cpu),
    ...pressures('memory', 'memory', ({ memory }) => memory),
    ...pressures('io', 'IO', ({ io }) => io),
    plain('container_scrape_error', '1 if there was an error while getting container metrics, 0 otherwise', 0),
    figures(
      'container_start_time_seconds',
      'Start time of the container since unix epoch in seconds.',
      ({ startTime, cpu }) => (cpu === undefined ? [] : [{ value: Date.parse(startTime) / 1000, ...at(cpu) }]),
    ),
    plain('machine_cpu_cores', 'Number of logical CPU cores.', machine.cores, facts),
    plain('machine_cpu_physical_cores', 'Number of physical CPU cores.', machine.physicalCores, facts),
    plain('machine_cpu_sockets', 'Number of CPU sockets.', machine.sockets, facts),
    plain('machine_memory_bytes', 'Amount of memory installed on the machine.', machine.memoryBytes, facts),
    plain('machine_scrape_error', '1 if there was an error while getting machine metrics, 0 otherwise.', 0),
    plain('machine_swap_bytes', 'Amount of swap memory available on the machine.', machine.swapBytes, facts),
  ];
  return families.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A figure without a value is left out. */
interface Figure {
  value: number | undefined;
  time: string;
  /** Labels besides those of the usage. */
  further?: Sample['labels'];
}
type Reader = (usage: Usage) => Figure[];

const versionHelp =
  "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.";
const noMemory: MemoryStats = { time: '' };
const ofAllCPUs = { cpu: 'total' };
const minorFaults = { failure_type: 'pgfault', scope: 'container' };
const majorFaults = { failure_type: 'pgmajfault', scope: 'container' };
const minorFaultsBelow = { failure_type: 'pgfault', scope: 'hierarchy' };
const majorFaultsBelow = { failure_type: 'pgmajfault', scope: 'hierarchy' };
/** The statistics do not name the device. */
const ofNoDevice = { device: '' };

const at = (measured: { time: string } | undefined): { time: string } => ({ time: measured?.time ?? '' });

const seconds = (nanos: number | undefined): number | undefined => (nanos === undefined ? undefined : nanos / 1e9);

const ofDevice = (fs: FsStats | undefined, value: number | undefined): Figure[] => [
  { value, ...at(fs), further: ofNoDevice },
];

function perInterface({ network }: Usage, read: (of: InterfaceStats) => number | undefined): Figure[] {
  if (network === undefined) return [];
  return (network.interfaces ?? []).map((of) => ({ value: read(of), ...at(network), further: { interface: of.name } }));
}

/** Computes a value once for each key. */
function memoized<Value>(compute: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    const value = known.get(key) ?? compute(key);
    known.set(key, value);
    return value;
  };
}
