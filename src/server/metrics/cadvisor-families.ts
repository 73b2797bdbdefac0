import type { Pod } from '../../api/types.ts';
import type { MeasuredCgroup } from '../../engine/stats/measured-cgroups.ts';
import type { FsStats, InterfaceStats, MemoryStats, PSIStats, Summary } from '../../engine/stats/summary.ts';
import { type Usage, usagesOf } from './cadvisor-usages.ts';
import { cgroupFamilies } from './cgroup-families.ts';
import type { Family, LongFamily, Sample } from './family.ts';
import type { MachineFacts } from './machine.ts';
import { memoized } from './memoized.ts';

/**
 * Metrics of /metrics/cadvisor, as far as the statistics have them. `pods` are the current pods, for the ids and images
 * of containers. kubelet: cadvisor metrics/prometheus.go, prometheus_machine.go
 */
export function cadvisorFamilies(
  summary: Summary,
  cgroups: readonly MeasuredCgroup[],
  pods: readonly Pod[],
  machine: MachineFacts,
): (Family | LongFamily)[] {
  const usages = usagesOf(summary, cgroups, pods);
  const instantOf = memoized(Date.parse);
  const interfaceLabels = memoized((name) => ({ interface: name }));
  const family = (name: string, help: string, read: Reader, type: Family['type'] = 'gauge'): LongFamily => ({
    name,
    type,
    help,
    each: (emit) => {
      for (const usage of usages) {
        read(usage, (value, time = '', extraLabels) => {
          // Statistics of a runtime may have no time.
          if (value !== undefined) emit(usage.labels, extraLabels, value, time === '' ? undefined : instantOf(time));
        });
      }
    },
  });
  const network = (name: string, help: string, read: (of: InterfaceStats) => number | undefined): LongFamily =>
    family(
      `container_network_${name}_total`,
      `Cumulative count of ${help}`,
      ({ network: measured }, add) => {
        for (const one of measured?.interfaces ?? []) add(read(one), measured?.time, interfaceLabels(one.name));
      },
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
  ): LongFamily[] =>
    (['full', 'some'] as const).map((share) =>
      family(
        `container_pressure_${name}_${share === 'full' ? 'stalled' : 'waiting'}_seconds_total`,
        share === 'full'
          ? `Total time duration no tasks in the container could make progress due to ${resource} congestion.`
          : `Total time duration tasks in the container have waited due to ${resource} congestion.`,
        (usage, add) => {
          const { time, psi } = of(usage) ?? {};
          add(psi && psi[share].total / 1e6, time);
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
    family(
      'container_cpu_usage_seconds_total',
      'Cumulative cpu time consumed in seconds.',
      ({ cpu }, add) => {
        add(seconds(cpu?.usageCoreNanoSeconds), cpu?.time, ofAllCPUs);
      },
      'counter',
    ),
    family(
      'container_fs_inodes_free',
      'Number of available Inodes',
      ofDevice((fs) => fs.inodesFree),
    ),
    family(
      'container_fs_inodes_total',
      'Number of Inodes',
      ofDevice((fs) => fs.inodes),
    ),
    family(
      'container_fs_limit_bytes',
      'Number of bytes that can be consumed by the container on this filesystem.',
      ofDevice((fs) => fs.capacityBytes),
    ),
    family(
      'container_fs_usage_bytes',
      'Number of bytes that are consumed by the container on this filesystem.',
      ofDevice((fs) => fs.usedBytes),
    ),
    family('container_last_seen', 'Last time a container was seen by the exporter', ({ cpu, memory }, add) => {
      const time = cpu?.time ?? memory?.time;
      if (time !== undefined) add(Math.floor(instantOf(time) / 1000), time);
    }),
    family(
      'container_memory_failures_total',
      'Cumulative count of memory allocation failures.',
      ({ memory: { time, pageFaults, majorPageFaults } = noMemory }, add) => {
        add(pageFaults, time, minorFaults);
        add(majorPageFaults, time, majorFaults);
        // Both scopes count the processes below.
        add(pageFaults, time, minorFaultsBelow);
        add(majorPageFaults, time, majorFaultsBelow);
      },
      'counter',
    ),
    family('container_memory_rss', 'Size of RSS in bytes.', ({ memory }, add) => {
      add(memory?.rssBytes, memory?.time);
    }),
    family('container_memory_swap', 'Container swap usage in bytes.', ({ swap }, add) => {
      add(swap?.swapUsageBytes, swap?.time);
    }),
    family(
      'container_memory_usage_bytes',
      'Current memory usage in bytes, including all memory regardless of when it was accessed',
      ({ memory }, add) => {
        add(memory?.usageBytes, memory?.time);
      },
    ),
    family('container_memory_working_set_bytes', 'Current working set in bytes.', ({ memory }, add) => {
      add(memory?.workingSetBytes, memory?.time);
    }),
    network('receive_bytes', 'bytes received', ({ rxBytes }) => rxBytes),
    network('receive_errors', 'errors encountered while receiving', ({ rxErrors }) => rxErrors),
    network('transmit_bytes', 'bytes transmitted', ({ txBytes }) => txBytes),
    network('transmit_errors', 'errors encountered while transmitting', ({ txErrors }) => txErrors),
    family(
      'container_processes',
      'Number of processes running inside the container.',
      ({ processes, cpu, cgroup }, add) => {
        add(processes, (cpu ?? cgroup)?.time);
      },
    ),
    ...pressures('cpu', 'CPU', ({ cpu }) => cpu),
    ...pressures('memory', 'memory', ({ memory }) => memory),
    ...pressures('io', 'IO', ({ io }) => io),
    plain('container_scrape_error', '1 if there was an error while getting container metrics, 0 otherwise', 0),
    family(
      'container_start_time_seconds',
      'Start time of the container since unix epoch in seconds.',
      ({ startTime, cpu }, add) => {
        if (cpu !== undefined) add(instantOf(startTime) / 1000, cpu.time);
      },
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

/** Adds a metric; a metric without a value is left out. `extraLabels`: labels in addition to those of the usage. */
type Add = (value: number | undefined, time: string | undefined, extraLabels?: Sample['labels']) => void;
type Reader = (usage: Usage, add: Add) => void;

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

const seconds = (nanos: number | undefined): number | undefined => (nanos === undefined ? undefined : nanos / 1e9);

const ofDevice =
  (read: (fs: FsStats) => number | undefined): Reader =>
  ({ fs }, add) => {
    if (fs !== undefined) add(read(fs), fs.time, ofNoDevice);
  };
