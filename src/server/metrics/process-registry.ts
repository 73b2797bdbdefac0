import { readFile } from 'node:fs/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Family } from './family.ts';

/** The longest timer of Node. The library would wake the process up so often, also while nobody scrapes. */
const neverMs = 2 ** 31 - 1;

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

  /** All metrics of the process, after these families, as text. */
  async text(families: readonly Family[]): Promise<string> {
    const all = await textOf([...families, await virtualMemoryLimit()]);
    return `${all}${await this.registry.metrics()}`;
  }

  /** When the process started, after these families, as text. */
  async startTimeText(families: readonly Family[]): Promise<string> {
    const start: Family = {
      name: 'process_start_time_seconds',
      type: 'gauge',
      help: '[ALPHA] Start time of the process since unix epoch in seconds.',
      samples: [{ labels: {}, value: performance.timeOrigin / 1000 }],
    };
    return textOf([...families, start]);
  }
}

/** Renders families that were counted elsewhere. One without series is left out, as in the kubelet. */
async function textOf(families: readonly Family[]): Promise<string> {
  const registry = new Registry();
  for (const { name, type, help, samples } of families) {
    if (samples.length === 0) continue;
    const metric = { name, help, get: () => Promise.resolve({ name, help, type, values: samples, aggregator: 'sum' }) };
    // Safe cast: a registry only calls `get` of a metric.
    registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
  }
  return families.length === 0 ? '' : registry.metrics();
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
