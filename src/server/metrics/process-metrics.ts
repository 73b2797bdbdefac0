import { readdirSync, readFileSync, statSync } from 'node:fs';
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import type { Family, Sample } from './family.ts';
import { Distribution, Tally } from './tally.ts';

/**
 * Metrics of this process: `process_*` as of a Go program, and `nodejs_*` under the names of prom-client. Observes
 * collections of garbage from its construction.
 */
export class ProcessMetrics {
  private readonly collections = new Distribution([0.001, 0.01, 0.1, 1, 2, 5]);

  constructor() {
    const observer = new PerformanceObserver((list) => {
      // Safe cast: entries of type `gc` have this detail.
      for (const { duration, detail } of list.getEntries() as CollectionEntry[]) {
        this.collections.observe(duration / 1000, collectionLabels.get(detail.kind) ?? {});
      }
    });
    observer.observe({ entryTypes: ['gc'] });
  }

  /** All metrics of the process. */
  async families(): Promise<Family[]> {
    const startedAtMs = performance.now();
    await nextTurn();
    const lagMs = performance.now() - startedAtMs;
    return [
      ...processFamilies(),
      gauge('nodejs_eventloop_lag_seconds', 'Lag of event loop in seconds.', plain(lagMs / 1000)),
      gauge(
        'nodejs_active_resources',
        'Number of active resources that are currently keeping the event loop alive, grouped by async resource type.',
        activeResources(),
      ),
      ...heapFamilies(),
      version,
      {
        name: collectionName,
        type: 'histogram',
        help: 'Garbage collection duration by kind, one of major, minor, incremental or weakcb.',
        samples: this.collections.samples(collectionName),
      },
    ];
  }
}

type CollectionEntry = PerformanceEntry & { detail: { kind: number } };

const collectionName = 'nodejs_gc_duration_seconds';
const collectionLabels: ReadonlyMap<number, Sample['labels']> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, { kind: 'major' }],
  [constants.NODE_PERFORMANCE_GC_MINOR, { kind: 'minor' }],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, { kind: 'incremental' }],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, { kind: 'weakcb' }],
]);

/** client_golang: prometheus/process_collector.go */
function processFamilies(): Family[] {
  const [limits, status] = [readOwn('limits'), readOwn('status')];
  const { user, system } = process.cpuUsage();
  return [
    gauge(
      'process_virtual_memory_max_bytes',
      'Maximum amount of virtual memory available in bytes.',
      limitOf(limits, 'Max address space'),
    ),
    counter('process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', plain(user / 1e6)),
    counter('process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.', plain(system / 1e6)),
    counter(
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      plain((user + system) / 1e6),
    ),
    gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      plain(Math.round(performance.timeOrigin / 1000)),
    ),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', statusBytes(status, 'VmRSS')),
    gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', statusBytes(status, 'VmSize')),
    gauge('process_heap_bytes', 'Process heap size in bytes.', statusBytes(status, 'VmData')),
    gauge('process_open_fds', 'Number of open file descriptors.', plain(openFiles())),
    gauge('process_max_fds', 'Maximum number of open file descriptors.', limitOf(limits, 'Max open files')),
  ];
}

function heapFamilies(): Family[] {
  const heap = getHeapStatistics();
  const spaces = getHeapSpaceStatistics().map(({ space_name: name, ...sizes }) => ({
    labels: { space: name.replace(/_space$/, '') },
    sizes,
  }));
  const ofSpaces = (what: string, figure: keyof (typeof spaces)[number]['sizes']): Family =>
    gauge(
      `nodejs_heap_space_size_${what}_bytes`,
      `Process heap space size ${what} from Node.js in bytes.`,
      spaces.map(({ labels, sizes }) => ({ labels, value: sizes[figure] })),
    );
  return [
    gauge('nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', plain(heap.total_heap_size)),
    gauge('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', plain(heap.used_heap_size)),
    gauge('nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', plain(heap.external_memory)),
    ofSpaces('total', 'space_size'),
    ofSpaces('used', 'space_used_size'),
    ofSpaces('available', 'space_available_size'),
  ];
}

function activeResources(): Sample[] {
  const counts = new Tally();
  for (const type of process.getActiveResourcesInfo()) counts.add({ type });
  return counts.samples();
}

const gauge = (name: string, help: string, samples: Sample[]): Family => ({ name, type: 'gauge', help, samples });
const counter = (name: string, help: string, samples: Sample[]): Family => ({ name, type: 'counter', help, samples });
const plain = (value: number): Sample[] => [{ labels: {}, value }];

const [major = '', minor = '', patch = ''] = process.version.slice(1).split('.');
const version = gauge('nodejs_version_info', 'Node.js version info.', [
  { labels: { version: process.version, major, minor, patch }, value: 1 },
]);

/** A file of this process that the kernel makes up. It never blocks. */
function readOwn(name: string): string {
  try {
    return readFileSync(`/proc/self/${name}`, 'latin1');
  } catch {
    return '';
  }
}

/** The soft limit. An unlimited one is the largest number of 64 bits. Empty if it is not known. */
function limitOf(limits: string, name: string): Sample[] {
  const [, soft] = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits) ?? [];
  if (soft === undefined) return [];
  return plain(soft === 'unlimited' ? 2 ** 64 : Number(soft));
}

function statusBytes(status: string, name: string): Sample[] {
  const [, kilobytes] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
  return kilobytes === undefined ? [] : plain(Number(kilobytes) * 1024);
}

/** Kernels before 6.2 do not count them in the size of the folder. */
function openFiles(): number {
  const { size } = statSync('/proc/self/fd');
  return size > 0 ? size : readdirSync('/proc/self/fd').length - 1;
}
