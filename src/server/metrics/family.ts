/** One metric with all its series, as a scrape shows them. */
export interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** Read once. A long list is made while it is read, because thousands of objects cost garbage collection. */
  samples: Iterable<Sample>;
}

/** Samples may share label objects. */
export interface Sample {
  labels: Readonly<Record<string, string>>;
  /** Labels after the others. */
  further?: Readonly<Record<string, string>> | undefined;
  value: number;
  /** When it was measured, in milliseconds since the epoch. Absent for "now". */
  at?: number | undefined;
  /** Name of the series, if it is not that of the family. */
  metricName?: string;
}

/** Texts of label objects that live longer than a page. */
export type LabelTexts = WeakMap<Sample['labels'], string>;

/** The families in Prometheus' text format 0.0.4. One without series is left out, as in the kubelet. */
export function textPage(families: Iterable<Family>, known: LabelTexts = new WeakMap()): Buffer {
  // A page has thousands of samples of some hundred label objects, and few times.
  const times = new Map<number, string>();
  const pages: Buffer[] = [];
  for (const { name, type, help, samples } of families) {
    const texts = [`# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`];
    const header = texts.length;
    for (const { labels, further, value, at, metricName = name } of samples) {
      const pairs = memoized(known, labels, pairsText);
      const more = further === undefined ? '' : memoized(known, further, pairsText);
      texts.push(metricName);
      if (pairs !== '' || more !== '') texts.push('{', pairs, pairs === '' || more === '' ? '' : ',', more, '}');
      texts.push(' ', numberText(value), at === undefined ? '\n' : memoized(times, at, timeText));
    }
    // Each family becomes bytes at once, because a text that lives longer is copied by garbage collection.
    if (texts.length > header) pages.push(Buffer.from(texts.join('')));
  }
  return Buffer.concat(pages);
}

interface Memory<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

function memoized<Key, Value>(known: Memory<Key, Value>, key: Key, compute: (key: Key) => Value): Value {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = compute(key)));
  return value;
}

const timeText = (at: number): string => ` ${at}\n`;

const pairsText = (labels: Sample['labels']): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`)
    .join(',');

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : `${value}`;
}

const escaped = (text: string): string =>
  /[\\\n]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('\n', String.raw`\n`) : text;
