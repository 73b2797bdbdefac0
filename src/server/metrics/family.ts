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

/** The families in Prometheus' text format 0.0.4, with the times of their samples. prom-client writes no times. */
export function stampedText(families: readonly Family[]): string {
  const lines = families
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, type, help, samples }) => [
      `# HELP ${name} ${escaped(help)}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(
        ({ labels, value, at }) => `${name}${labelsText(labels)} ${value}${at === undefined ? '' : ` ${at}`}`,
      ),
    ]);
  return lines.map((line) => `${line}\n`).join('');
}

function labelsText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', String.raw`\n`);
