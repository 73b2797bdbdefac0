/** A measured quantity. */
export interface Quantity {
  what: string;
  unit: 'ms' | 'MB' | 'ms/s' | 'power of pods' | 'times';
}

/** All samples of one quantity for one contestant. `floor` is the bare runtime, or Node doing nothing. */
export interface Figure extends Quantity {
  who: string;
  samples: number[];
}

export const floor = 'floor';

/** Figures in the order of their quantities, with the median of the floor if there is one. */
export class Figures {
  private readonly quantities = new Map<string, Figure[]>();

  add({ what, unit }: Quantity, who: string, ...samples: number[]): void {
    const figures = this.quantities.get(what) ?? [];
    this.quantities.set(what, figures);
    const known = figures.find((figure) => figure.who === who);
    if (known === undefined) figures.push({ what, unit, who, samples });
    else known.samples.push(...samples);
  }

  summaries(): Summary[] {
    return [...this.quantities.values()].flatMap((figures) => {
      const lowest = figures.find(({ who }) => who === floor);
      return figures.map((figure) => summary(figure, figure === lowest ? undefined : lowest));
    });
  }
}

export interface Summary extends Figure {
  median: number;
  p10: number;
  p90: number;
  /** The median as a multiple of the floor. */
  ratio?: number;
}

function summary(figure: Figure, lowest: Figure | undefined): Summary {
  const at = (percent: number): number => percentile(figure.samples, percent);
  return {
    ...figure,
    median: at(50),
    p10: at(10),
    p90: at(90),
    ...(lowest === undefined ? {} : { ratio: at(50) / percentile(lowest.samples, 50) }),
  };
}

/** Returns the value below which this share of the samples lies, interpolated between two samples. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const position = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(position)] ?? NaN;
  const above = sorted[Math.ceil(position)] ?? NaN;
  return below + (above - below) * (position % 1);
}

/** Returns the rows of a table, starting with the header. */
export function tableRows(summaries: readonly Summary[]): string[][] {
  const rows = summaries.map(({ what, who, unit, median, p10, p90, ratio, samples }, index) => [
    summaries[index - 1]?.what === what ? '' : what,
    who,
    `${unit === 'times' ? median.toFixed(2) : rounded(median)} ${unit}`,
    samples.length === 1 ? '' : `${rounded(p10)}..${rounded(p90)}`,
    ratio === undefined ? '' : `${ratio.toFixed(2)}x`,
  ]);
  return [['WHAT', 'WHO', 'MEDIAN', 'P10..P90', 'FLOORS'], ...rows];
}

const rounded = (value: number): string => value.toFixed(Math.abs(value) < 10 ? 1 : 0);
