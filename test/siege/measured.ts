/** One line of `peers/sampler.mjs`. */
export interface Sample {
  readonly healthz: Answer;
  readonly snapshot: Answer;
  /** How long a server that does nothing else took to answer. */
  readonly floorMs: number;
  readonly residentMB: number;
  readonly peakMB: number;
  readonly descriptors: number;
  /** Of the machine, over one minute. */
  readonly load: number;
}

interface Answer {
  readonly ms: number;
  readonly bytes: number;
  readonly error?: string;
}

/** What was measured in all of a siege. */
export interface Figures {
  readonly samples: number;
  readonly healthzMs: Spread;
  readonly snapshotMs: Spread;
  readonly floorMs: Spread;
  /** Of a whole process, from its start to its end. */
  readonly psMs: Spread;
  /** The longest that an answer took more than the idle server of the same second. */
  readonly worstBeyondFloorMs: number;
  readonly errors: readonly string[];
  readonly snapshotKB: Spread;
  readonly residentMB: Spread;
  /** Highest ever, also between samples. */
  readonly peakMB: number;
  readonly descriptors: Spread;
  readonly load: Spread;
  readonly logLines: number;
  readonly logMB: number;
}

interface Spread {
  readonly median: number;
  readonly worst: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)] ?? NaN, worst: sorted.at(-1) ?? NaN };
}

export function figuresOf(
  samples: readonly Sample[],
  more: Pick<Figures, 'logLines' | 'logMB'> & { psMs: readonly number[] },
): Figures {
  const all = (value: (sample: Sample) => number): Spread => spreadOf(samples.map(value));
  const errors = samples.flatMap(({ healthz, snapshot }) => [
    ...(healthz.error === undefined ? [] : [`healthz: ${healthz.error}`]),
    ...(snapshot.error === undefined ? [] : [`snapshot: ${snapshot.error}`]),
  ]);
  return {
    ...more,
    samples: samples.length,
    healthzMs: all(({ healthz }) => healthz.ms),
    snapshotMs: all(({ snapshot }) => snapshot.ms),
    floorMs: all(({ floorMs }) => floorMs),
    psMs: spreadOf(more.psMs),
    worstBeyondFloorMs: all(({ healthz, snapshot, floorMs }) => Math.max(healthz.ms, snapshot.ms) - floorMs).worst,
    errors: [...new Set(errors)],
    snapshotKB: all(({ snapshot }) => snapshot.bytes / 1000),
    residentMB: all(({ residentMB }) => residentMB),
    peakMB: all(({ peakMB }) => peakMB).worst,
    descriptors: all(({ descriptors }) => descriptors),
    load: all(({ load }) => load),
  };
}

/** The table for people. */
export function figuresText(figures: Figures, hits: ReadonlyMap<string, number>): string {
  const { healthzMs, snapshotMs, floorMs, psMs, snapshotKB, descriptors, load } = figures;
  const row = (name: string, { median, worst }: Spread): string[] => [name, median.toFixed(0), worst.toFixed(0)];
  const rows = [
    ['', 'median', 'worst'],
    row('/healthz, ms', healthzMs),
    row('snapshot of ps, ms', snapshotMs),
    row('an idle server, ms', floorMs),
    row('ps, a process, ms', psMs),
    row('snapshot, KB', snapshotKB),
    row('VmRSS, MB', figures.residentMB),
    ['VmHWM, MB', '', figures.peakMB.toFixed(0)],
    row('descriptors', descriptors),
    row('load', load),
    ['log, lines', '', String(figures.logLines)],
    ['log, MB', '', figures.logMB.toFixed(1)],
    ...[...hits].map(([name, count]) => [name, '', String(count)]),
  ];
  const table = rows.map(
    ([name = '', median = '', worst = '']) => name.padEnd(24) + median.padStart(8) + worst.padStart(8),
  );
  return `${figures.samples} samples\n${table.join('\n')}\n${figures.errors.join('\n')}\n`;
}
