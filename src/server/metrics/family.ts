/** One metric with all its series, as a scrape shows them. */
export interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  samples: Sample[];
}

export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
  /** When it was measured, in milliseconds since the epoch. Absent for "now". */
  at?: number;
  /** Name of the series, if it is not that of the family. */
  metricName?: string;
}

/** A family whose samples share label objects. */
export interface StampedFamily extends Omit<Family, 'samples'> {
  /** `further` are labels after the others. */
  samples: (Sample & { further?: Sample['labels'] })[];
}

/** The families in Prometheus' text format 0.0.4, with the times of their samples. prom-client writes no times. */
export function stampedText(families: readonly StampedFamily[]): string {
  // A page has thousands of samples of some hundred label objects.
  const known = new Map<Sample['labels'], string>();
  let page = '';
  for (const { name, type, help, samples } of families) {
    if (samples.length > 0) page += `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
    for (const { labels, further, value, at } of samples) {
      const time = at === undefined ? '' : ` ${at}`;
      page += `${name}${inBraces(pairsText(known, labels), pairsText(known, further))} ${value}${time}\n`;
    }
  }
  return page;
}

function inBraces(pairs: string, further: string): string {
  if (pairs === '' && further === '') return '';
  return `{${pairs}${pairs === '' || further === '' ? '' : ','}${further}}`;
}

function pairsText(known: Map<Sample['labels'], string>, labels: Sample['labels'] | undefined): string {
  if (labels === undefined) return '';
  let text = known.get(labels);
  if (text === undefined) {
    const pairs = Object.entries(labels);
    text = pairs.map(([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`).join(',');
    known.set(labels, text);
  }
  return text;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', String.raw`\n`);
