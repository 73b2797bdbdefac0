import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Histogram, type Metric, MetricFamily, type MetricType } from '../generated/prometheus.ts';
import { eachSample, type Family, type LongFamily, type Sample } from './family.ts';

const types: Readonly<Record<Family['type'], MetricType>> = {
  counter: 'COUNTER',
  gauge: 'GAUGE',
  histogram: 'HISTOGRAM',
};

/**
 * The families in Prometheus' binary format: each one behind its length. One without series is left out, as in the
 * text. client_golang: expfmt/encode.go FmtProtoDelim
 */
export function binaryMetrics(families: Iterable<Family | LongFamily>): Uint8Array {
  const writer = new BinaryWriter();
  for (const family of families) {
    const { name, help, type } = family;
    const samples = samplesOf(family);
    const metric =
      type === 'histogram' ? histograms(name, samples) : samples.map((sample) => singleMetric(type, sample));
    if (metric.length === 0) continue;
    MetricFamily.encode({ name, help, type: types[type], metric }, writer.fork()).join();
  }
  return writer.finish();
}

function samplesOf(family: Family | LongFamily): Sample[] {
  const samples: Sample[] = [];
  eachSample(family, (labels, further, value, at, metricName) => {
    samples.push({ labels, further, value, at, ...(metricName !== undefined && { metricName }) });
  });
  return samples;
}

function singleMetric(type: 'counter' | 'gauge', { labels, further, value, at }: Sample): Metric {
  return {
    label: [...pairs(labels), ...pairs(further)],
    ...(type === 'counter' ? { counter: { value } } : { gauge: { value } }),
    ...(at !== undefined && { timestampMs: BigInt(at) }),
  };
}

const pairs = (labels: Sample['labels'] = {}): Metric['label'] =>
  Object.entries(labels).map(([name, value]) => ({ name, value }));

/** Series of buckets, sums and counts as one metric for each set of labels. */
function histograms(name: string, samples: readonly Sample[]): Metric[] {
  const metrics = new Map<string, Metric & { histogram: Histogram }>();
  for (const { labels, further: { le, ...others } = {}, value, metricName } of samples) {
    const label = [...pairs(labels), ...pairs(others)];
    const key = JSON.stringify(label);
    const histogram: Histogram = metrics.get(key)?.histogram ?? { bucket: [] };
    metrics.set(key, { label, histogram });
    if (metricName === `${name}_sum`) histogram.sampleSum = value;
    else if (metricName === `${name}_count`) histogram.sampleCount = BigInt(value);
    else if (le !== '+Inf') histogram.bucket.push({ cumulativeCount: BigInt(value), upperBound: Number(le) });
  }
  return [...metrics.values()];
}
