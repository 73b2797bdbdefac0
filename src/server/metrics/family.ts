import { chunkLength, TextParts } from '../../text/text-parts.ts';

/** One metric with all its series, as a scrape shows them. */
export interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  samples: Iterable<Sample>;
}

/** A metric that emits its hundreds of series, because an object for each would cost garbage collection. */
export type LongFamily = Omit<Family, 'samples'> & { each: (emit: Emit) => void };

/** Receives the parts of a sample. */
export type Emit = (
  labels: Sample['labels'],
  extraLabels: Sample['extraLabels'],
  value: number,
  at: number | undefined,
  metricName?: string,
) => void;

/** Emits the samples of a family. */
export function eachSample(family: Family | LongFamily, emit: Emit): void {
  if ('each' in family) family.each(emit);
  else
    for (const { labels, extraLabels, value, at, metricName } of family.samples)
      emit(labels, extraLabels, value, at, metricName);
}

/** Samples may share label objects. */
export interface Sample {
  labels: Readonly<Record<string, string>>;
  /** Labels after the others. */
  extraLabels?: Readonly<Record<string, string>> | undefined;
  value: number;
  /** When it was measured, in milliseconds since the epoch. Absent for "now". */
  at?: number | undefined;
  /** Name of the series, if it is not that of the family. */
  metricName?: string;
}

/** Texts of label objects that live longer than a page. */
export type LabelStrings = WeakMap<Sample['labels'], string>;

/**
 * The families in Prometheus' text format 0.0.4. Omits families without series, as the kubelet does. A page with
 * thousands of series comes in parts. Reads a family only after the previous parts were consumed.
 */
export function* textParts(
  families: Iterable<Family | LongFamily>,
  known: LabelStrings = new WeakMap(),
): Generator<Buffer, void> {
  // A page has thousands of samples of some hundred label objects, and few times.
  const times = new Map<number, string>();
  const page = new TextParts();
  let text = '';
  for (const family of families) {
    const { name, help, type } = family;
    let header = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
    eachSample(family, (labels, extraLabels, value, at, metricName = name) => {
      const pairs = memoized(known, labels, pairsText);
      const more = extraLabels === undefined ? '' : memoized(known, extraLabels, pairsText);
      const all = pairs === '' || more === '' ? pairs + more : `${pairs},${more}`;
      text += header + metricName;
      header = '';
      if (all !== '') text += `{${all}}`;
      text += ` ${numberText(value)}${at === undefined ? '\n' : memoized(times, at, timeText)}`;
      if (text.length < chunkLength) return;
      page.add(text);
      text = '';
    });
    yield* page.drain();
  }
  page.add(text);
  page.end();
  yield* page.drain();
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

function pairsText(labels: Sample['labels']): string {
  let text = '';
  for (const name of Object.keys(labels)) {
    const value = escaped(labels[name] ?? '');
    const quoted = value.includes('"') ? value.replaceAll('"', String.raw`\"`) : value;
    text += `${text === '' ? '' : ','}${name}="${quoted}"`;
  }
  return text;
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : `${value}`;
}

const escaped = (text: string): string =>
  /[\\\n]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('\n', String.raw`\n`) : text;
