import type { Sample } from './family.ts';

type Labels = Sample['labels'];

/** Counts events by labels. Small enough to run in every agent, even if it is never scraped. */
export class Tally {
  private readonly counts = new Map<string, { labels: Labels; value: number }>();

  /** `plain`: without labels. It shows 0 before the first event. */
  constructor({ plain = false } = {}) {
    if (plain) this.counts.set('', { labels: {}, value: 0 });
  }

  add(labels: Labels = {}, by = 1): void {
    const key = Object.values(labels).join('\0');
    const count = this.counts.get(key);
    if (count === undefined) this.counts.set(key, { labels, value: by });
    else count.value += by;
  }

  set(labels: Labels, value: number): void {
    this.counts.set(Object.values(labels).join('\0'), { labels, value });
  }

  /** Deletes the series whose labels match. */
  delete(matches: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.counts) if (matches(labels)) this.counts.delete(key);
  }

  samples(): Sample[] {
    return Array.from(this.counts.values(), ({ labels, value }) => ({ labels, value }));
  }
}

interface Series {
  labels: Labels;
  buckets: number[];
  sum: number;
  count: number;
}

/** Distributes durations over buckets, by labels. */
export class Distribution {
  private readonly bounds: readonly { value: number; labels: Labels }[];
  private readonly series = new Map<string, Series>();

  /** `bounds` are upper bounds, ascending. `plain`: without labels. It shows 0 before the first event. */
  constructor(bounds: readonly number[], { plain = false } = {}) {
    this.bounds = bounds.map((value) => ({ value, labels: { le: String(value) } }));
    if (plain) this.createSeries('', {});
  }

  observe(value: number, labels: Labels = {}): void {
    const key = Object.values(labels).join('\0');
    const series = this.series.get(key) ?? this.createSeries(key, labels);
    const index = this.bounds.findIndex((bound) => value <= bound.value);
    if (index !== -1) series.buckets[index] = (series.buckets[index] ?? 0) + 1;
    series.sum += value;
    series.count += 1;
  }

  private createSeries(key: string, labels: Labels): Series {
    const series = { labels, buckets: this.bounds.map(() => 0), sum: 0, count: 0 };
    this.series.set(key, series);
    return series;
  }

  delete(matches: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.series) if (matches(labels)) this.series.delete(key);
  }

  /** The series of a histogram with this name. */
  samples(name: string): Sample[] {
    const [bucket, sumName, countName] = [`${name}_bucket`, `${name}_sum`, `${name}_count`];
    const samples: Sample[] = [];
    for (const { labels, buckets, sum, count } of this.series.values()) {
      let below = 0;
      for (const [index, bound] of this.bounds.entries()) {
        below += buckets[index] ?? 0;
        samples.push({ metricName: bucket, labels, extraLabels: bound.labels, value: below });
      }
      samples.push(
        { metricName: bucket, labels, extraLabels: unbounded, value: count },
        { metricName: sumName, labels, value: sum },
        { metricName: countName, labels, value: count },
      );
    }
    return samples;
  }
}

const unbounded: Labels = { le: '+Inf' };

/** The usual buckets in seconds. client_golang: prometheus/histogram.go DefBuckets */
export const usualBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `count` bounds, each `factor` times the one before. */
export const exponentialBuckets = (first: number, factor: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first * factor ** index);
