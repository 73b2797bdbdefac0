/** One line of `peers/sampler.mjs`. */
export interface Sample {
  /** Since the sampler started. */
  readonly seconds: number;
  readonly healthz: Answer;
  /** What `ps` asks for. */
  readonly table: Answer;
  /** How long a server that does nothing else took to answer. */
  readonly floorMs: number;
  readonly residentMB: number;
  readonly peakMB: number;
  readonly descriptors: number;
  /** Of the machine, over one minute. */
  readonly load: number;
}

/** One line of `peers/operator.mjs`: a whole process each, one after the other. */
export interface CommandTimes {
  readonly nodeMs: number;
  readonly psMs: number;
  readonly error?: string;
}

interface Answer {
  readonly ms: number;
  readonly error?: string;
}

/** What was measured in all of a siege. */
export interface Figures {
  readonly samples: number;
  readonly healthzMs: Spread;
  readonly tableMs: Spread;
  readonly floorMs: Spread;
  /** Of a whole process, from its start to its end. */
  readonly psMs: Spread;
  /** Of a Node that does nothing, just before each `ps`. */
  readonly nodeMs: Spread;
  /**
   * Of all `ps` beyond that of all Nodes. By pairs it would say little: two processes in a row differ by seconds on a
   * machine that is used up. So do the two slowest of all.
   */
  readonly psBeyondNodeMs: Spread;
  /** The longest that an answer took more than the idle server of the same second. */
  readonly worstBeyondFloorMs: number;
  readonly errors: readonly string[];
  readonly residentMB: Spread;
  /** See `growthOf`. */
  readonly residentGrowth: number;
  /** Highest ever, also between samples. */
  readonly peakMB: number;
  readonly descriptors: Spread;
  readonly load: Spread;
  readonly logLines: number;
  readonly logMB: number;
}

interface Spread {
  readonly median: number;
  /** Nine in ten were not longer. */
  readonly high: number;
  readonly worst: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? NaN;
  return { median: at(0.5), high: at(0.9), worst: sorted.at(-1) ?? NaN };
}

/** The caches of an agent fill in this time. */
const warmUpSeconds = 60;

/**
 * Returns the median memory of the last third of the samples after a warm-up, divided by that of the first third: 1 if
 * it is flat. Returns NaN if there are no samples after the warm-up.
 */
export function growthOf(samples: readonly Pick<Sample, 'seconds' | 'residentMB'>[]): number {
  const warm = samples.filter(({ seconds }) => seconds >= warmUpSeconds).map(({ residentMB }) => residentMB);
  const third = Math.ceil(warm.length / 3);
  return spreadOf(warm.slice(-third)).median / spreadOf(warm.slice(0, third)).median;
}

export function figuresOf(
  samples: readonly Sample[],
  commands: readonly CommandTimes[],
  log: Pick<Figures, 'logLines' | 'logMB'>,
): Figures {
  const all = (value: (sample: Sample) => number): Spread => spreadOf(samples.map(value));
  const errors = samples.flatMap(({ healthz, table }) => [
    ...(healthz.error === undefined ? [] : [`healthz: ${healthz.error}`]),
    ...(table.error === undefined ? [] : [`table of ps: ${table.error}`]),
  ]);
  errors.push(...commands.flatMap(({ error }) => (error === undefined ? [] : [`ps: ${error}`])));
  const psMs = spreadOf(commands.map((times) => times.psMs));
  const nodeMs = spreadOf(commands.map((times) => times.nodeMs));
  return {
    ...log,
    samples: samples.length,
    healthzMs: all(({ healthz }) => healthz.ms),
    tableMs: all(({ table }) => table.ms),
    floorMs: all(({ floorMs }) => floorMs),
    psMs,
    nodeMs,
    psBeyondNodeMs: {
      median: psMs.median - nodeMs.median,
      high: psMs.high - nodeMs.high,
      worst: psMs.worst - nodeMs.worst,
    },
    worstBeyondFloorMs: all(({ healthz, table, floorMs }) => Math.max(healthz.ms, table.ms) - floorMs).worst,
    errors: [...new Set(errors)],
    residentMB: all(({ residentMB }) => residentMB),
    residentGrowth: growthOf(samples),
    peakMB: all(({ peakMB }) => peakMB).worst,
    descriptors: all(({ descriptors }) => descriptors),
    load: all(({ load }) => load),
  };
}

/** The table for people. */
export function figuresText(figures: Figures, hits: ReadonlyMap<string, number>): string {
  const { healthzMs, tableMs, floorMs, psMs, nodeMs, descriptors, load } = figures;
  const row = (name: string, { median, high, worst }: Spread): string[] => [
    name,
    ...[median, high, worst].map((value) => value.toFixed(0)),
  ];
  const rows = [
    ['', 'median', '90 %', 'worst'],
    row('/healthz, ms', healthzMs),
    row('table of ps, ms', tableMs),
    row('an idle server, ms', floorMs),
    row('ps, a process, ms', psMs),
    row('node -e 0 before, ms', nodeMs),
    row('VmRSS, MB', figures.residentMB),
    ['VmRSS, last/first third', '', '', figures.residentGrowth.toFixed(2)],
    ['VmHWM, MB', '', '', figures.peakMB.toFixed(0)],
    row('descriptors', descriptors),
    row('load', load),
    ['log, lines', '', '', String(figures.logLines)],
    ['log, MB', '', '', figures.logMB.toFixed(1)],
    ...[...hits].map(([name, count]) => [name, '', '', String(count)]),
  ];
  const table = rows.map(
    ([name = '', ...values]) => name.padEnd(24) + values.map((value) => value.padStart(8)).join(''),
  );
  return `${figures.samples} samples\n${table.join('\n')}\n${figures.errors.join('\n')}\n`;
}
