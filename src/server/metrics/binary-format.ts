import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Histogram, type Metric, MetricFamily, type MetricType } from '../generated/prometheus.ts';
import { eachSample, type Family, type LongFamily, type Sample } from './family.ts';

const types: Readonly<Record<Family['type'], MetricType>> = {
  counter: 'COUNTER',
  gauge: 'GAUGE',
  histogram: 'HISTOGRAM',
};

/** Minimum bytes of a part, except for the last one. */
const partBytes = 16 * 1024;

/**
 * The families in Prometheus' binary format, each preceded by its length. Omits families without series, as the text
 * format does. Reads a family only after the previous parts were consumed. client_golang: expfmt/encode.go
 * FmtProtoDelim
 */
export function* binaryParts(families: Iterable<Family | LongFamily>): Generator<Buffer, void> {
  let texts: Uint8Array[] = [];
  for (const family of families) {
    const { name, help, type } = family;
    const samples = samplesOf(family);
    const metric =
      type === 'histogram' ? histograms(name, samples) : samples.map((sample) => singleMetric(type, sample));
    if (metric.length === 0) continue;
    const writer = new BinaryWriter();
    MetricFamily.encode({ name, help, type: types[type], metric }, writer.fork()).join();
    texts.push(writer.finish());
    if (texts.reduce((sum, { length }) => sum + length, 0) < partBytes) continue;
    yield Buffer.concat(texts);
    texts = [];
  }
  if (texts.length > 0) yield Buffer.concat(texts);
}

function samplesOf(family: Family | LongFamily): Sample[] {
  const samples: Sample[] = [];
  eachSample(family, (labels, extraLabels, value, at, metricName) => {
    samples.push({ labels, extraLabels, value, at, ...(metricName !== undefined && { metricName }) });
  });
  return samples;
}

function singleMetric(type: 'counter' | 'gauge', { labels, extraLabels, value, at }: Sample): Metric {
  return {
    label: [...pairs(labels), ...pairs(extraLabels)],
    ...(type === 'counter' ? { counter: { value } } : { gauge: { value } }),
    ...(at !== undefined && { timestampMs: BigInt(at) }),
  };
}

const pairs = (labels: Sample['labels'] = {}): Metric['label'] =>
  Object.entries(labels).map(([name, value]) => ({ name, value }));

/** Series of buckets, sums and counts as one metric for each set of labels. */
function histograms(name: string, samples: readonly Sample[]): Metric[] {
  const metrics = new Map<string, Metric & { histogram: Histogram }>();
  for (const { labels, extraLabels: { le, ...others } = {}, value, metricName } of samples) {
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
