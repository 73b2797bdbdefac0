import { readFile } from 'node:fs/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Family, Sample } from './family.ts';

/** The longest timer of Node. Otherwise the library would wake the process at its period, even if nobody scrapes. */
const neverMs = 2 ** 31 - 1;

/** A family as the library has it. */
interface OwnFamily extends Omit<Family, 'samples'> {
  values: OwnSample[];
}
type OwnSample = Omit<Sample, 'labels' | 'extraLabels'> & { labels: Readonly<Record<string, string | number>> };

function withTextLabels({ labels: { le, ...labels }, ...sample }: OwnSample): Sample {
  return {
    ...sample,
    labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)])),
    ...(le !== undefined && { extraLabels: { le: String(le) } }),
  };
}

/** Metrics of this process: `process_*` and `nodejs_*`. Loading this file takes 12 MB, so it is loaded on demand. */
export class ProcessRegistry {
  private readonly registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: neverMs });
    // They need the timer. The lag at the moment of the scrape stays.
    for (const part of ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']) {
      this.registry.removeSingleMetric(`nodejs_eventloop_lag_${part}_seconds`);
    }
    // Gauges under the names of counters, which promtool refuses. Those by kind of resource stay.
    for (const kind of ['handles', 'requests', 'resources']) {
      this.registry.removeSingleMetric(`nodejs_active_${kind}_total`);
    }
  }

  /** All metrics of the process. */
  async families(): Promise<Family[]> {
    const [limit, own] = await Promise.all([virtualMemoryLimit(), this.registry.getMetricsAsJSON()]);
    // Safe cast: the default metrics are counters, gauges and histograms, and `values` are their samples.
    const known = own as unknown as OwnFamily[];
    return [limit, ...known.map(({ values, ...family }) => ({ ...family, samples: values.map(withTextLabels) }))];
  }
}

/** kubelet: client_golang process_collector.go maxVsize */
async function virtualMemoryLimit(): Promise<Family> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft = ''] = /^Max address space\s+(\S+)/m.exec(limits) ?? [];
  // An unlimited one is the largest number of 64 bits.
  const value = soft === 'unlimited' ? 2 ** 64 : Number(soft);
  return {
    name: 'process_virtual_memory_max_bytes',
    type: 'gauge',
    help: 'Maximum amount of virtual memory available in bytes.',
    samples: soft === '' ? [] : [{ labels: {}, value }],
  };
}
