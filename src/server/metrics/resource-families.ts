import type { CPUStats, MemoryStats, PodStats, Summary, SwapStats } from '../../engine/stats/summary.ts';
import type { Family, Sample } from './family.ts';

interface Measured {
  cpu?: CPUStats;
  memory?: MemoryStats;
  swap?: SwapStats;
}
type ReadSamples = (usage: Measured, labels: Sample['labels']) => Sample[];

/** Metrics of /metrics/resource. kubelet: metrics/collectors/resource_metrics.go */
export function resourceFamilies({ node, pods: measured }: Summary): Family[] {
  // As in /stats/summary, a pod without a running container has no figures.
  const pods = measured.filter(({ containers }) => containers.length > 0);
  const ofNode = (read: ReadSamples): Sample[] => read(node, {});
  const ofPods = (read: ReadSamples): Sample[] => pods.flatMap((pod) => read(pod, podLabels(pod)));
  const ofContainers = (read: ReadSamples): Sample[] =>
    pods.flatMap((pod) =>
      pod.containers.flatMap((container) => read(container, { container: container.name, ...podLabels(pod) })),
    );
  const startTimes = pods.flatMap((pod) =>
    pod.containers.map(({ name, startTime }) => ({
      labels: { container: name, ...podLabels(pod) },
      value: Date.parse(startTime) / 1000,
    })),
  );
  return [
    counter('container_cpu_usage_seconds_total', `${cpuHelp} container in core-seconds`, ofContainers(cpuSeconds)),
    gauge('container_memory_working_set_bytes', `${memoryHelp} container in bytes`, ofContainers(workingSet)),
    gauge('container_start_time_seconds', 'Start time of the container since unix epoch in seconds', startTimes),
    alpha(
      'container_swap_limit_bytes',
      `Current amount of the container swap limit in bytes. ${swapNote}`,
      ofContainers(swapLimit),
    ),
    alpha(
      'container_swap_usage_bytes',
      `${swapHelp} container swap usage in bytes. ${swapNote}`,
      ofContainers(swapUsage),
    ),
    counter('node_cpu_usage_seconds_total', `${cpuHelp} node in core-seconds`, ofNode(cpuSeconds)),
    gauge('node_memory_working_set_bytes', `${memoryHelp} node in bytes`, ofNode(workingSet)),
    alpha('node_swap_usage_bytes', `${swapHelp} node swap usage in bytes. ${swapNote}`, ofNode(swapUsage)),
    counter('pod_cpu_usage_seconds_total', `${cpuHelp} pod in core-seconds`, ofPods(cpuSeconds)),
    gauge('pod_memory_working_set_bytes', `${memoryHelp} pod in bytes`, ofPods(workingSet)),
    alpha('pod_swap_usage_bytes', `${swapHelp} pod swap usage in bytes. ${swapNote}`, ofPods(swapUsage)),
    scrapeError(false),
  ];
}

/** The only family if the usage could not be measured (`failed`), else the last one. */
export function scrapeError(failed: boolean): Family {
  const help = '1 if there was an error while getting container metrics, 0 otherwise';
  return gauge('resource_scrape_error', help, [{ labels: {}, value: failed ? 1 : 0 }]);
}

const cpuHelp = 'Cumulative cpu time consumed by the';
const memoryHelp = 'Current working set of the';
const swapHelp = 'Current amount of the';
const swapNote = 'Reported only on non-windows systems';

const podLabels = ({ podRef }: PodStats): { pod: string; namespace: string } => ({
  pod: podRef.name,
  namespace: podRef.namespace,
});

const cpuSeconds: ReadSamples = ({ cpu }, labels) => one(labels, cpu?.usageCoreNanoSeconds, cpu?.time, 1e9);
const workingSet: ReadSamples = ({ memory }, labels) => one(labels, memory?.workingSetBytes, memory?.time);
const swapUsage: ReadSamples = ({ swap }, labels) => one(labels, swap?.swapUsageBytes, swap?.time);

/** A container may use what it uses now plus what is left. */
const swapLimit: ReadSamples = ({ swap }, labels) => {
  const { swapUsageBytes, swapAvailableBytes, time } = swap ?? {};
  const isKnown = swapUsageBytes !== undefined && swapAvailableBytes !== undefined;
  return one(labels, isKnown ? swapUsageBytes + swapAvailableBytes : undefined, time);
};

/** Empty if the value is unknown. */
function one(labels: Sample['labels'], value: number | undefined, time = '', unit = 1): Sample[] {
  return value === undefined ? [] : [{ labels, value: value / unit, at: Date.parse(time) }];
}

const counter = (name: string, help: string, samples: Sample[]): Family => ({
  name,
  type: 'counter',
  help: `[STABLE] ${help}`,
  samples,
});

const gauge = (name: string, help: string, samples: Sample[]): Family => ({
  name,
  type: 'gauge',
  help: `[STABLE] ${help}`,
  samples,
});

const alpha = (name: string, text: string, samples: Sample[]): Family => ({
  name,
  type: 'gauge',
  help: `[ALPHA] ${text}`,
  samples,
});
