/** Indexes of a Job as ascending ranges, each with its first and last index. Written as `0-3,7`. */
export type IndexRanges = readonly (readonly [first: number, last: number])[];

/** Parses ranges as a manifest writes them. Returns undefined unless they ascend and do not touch each other's. */
export function parseIndexRanges(text: string): IndexRanges | undefined {
  if (text === '') return [];
  const ranges: [number, number][] = [];
  for (const part of text.split(',')) {
    const [, first, last] = /^([0-9]{1,9})(?:-([0-9]{1,9}))?$/.exec(part) ?? [];
    if (first === undefined) return undefined;
    const range: [number, number] = [Number(first), Number(last ?? first)];
    if (range[0] <= (ranges.at(-1)?.[1] ?? -1) || range[1] < range[0]) return undefined;
    ranges.push(range);
  }
  return ranges;
}

export function formatIndexRanges(ranges: IndexRanges): string {
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}

/** Returns the range that has the index. Returns undefined if none has. */
export function rangeWith(ranges: IndexRanges, index: number): IndexRanges[number] | undefined {
  return ranges.find(([first, last]) => first <= index && index <= last);
}

/** Returns the last indexes, at most `count`, in their order. */
export function lastIndexes(ranges: IndexRanges, count: number): number[] {
  const indexes = ranges.slice(-count).flatMap(([first, last]) => {
    const from = Math.max(first, last - count + 1);
    return Array.from({ length: last - from + 1 }, (_, index) => from + index);
  });
  return indexes.slice(-count);
}

/** Returns how many indexes the ranges have, only below `end`. */
export function countIndexes(ranges: IndexRanges, end = Infinity): number {
  return ranges.reduce((sum, [first, last]) => sum + Math.max(0, Math.min(last, end - 1) - first + 1), 0);
}

/** Returns the ranges with one more index. */
export function withIndex(ranges: IndexRanges, index: number): IndexRanges {
  const merged: [number, number][] = [];
  const sorted = [...ranges, [index, index] as const].sort(([a], [b]) => a - b);
  for (const [first, last] of sorted) {
    const before = merged.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

/** Returns the ranges without an index. */
export function withoutIndex(ranges: IndexRanges, index: number): IndexRanges {
  return [...commonIndexes(ranges, [[0, index - 1]]), ...commonIndexes(ranges, [[index + 1, Infinity]])];
}

/** Returns the indexes that both have. */
export function commonIndexes(some: IndexRanges, others: IndexRanges): IndexRanges {
  const common: [number, number][] = [];
  let passed = 0;
  for (const [first, last] of some) {
    while ((others[passed]?.[1] ?? Infinity) < first) passed++;
    for (let index = passed; (others[index]?.[0] ?? Infinity) <= last; index++) {
      const [from, to] = others[index] ?? [0, -1];
      if (Math.max(first, from) <= Math.min(last, to)) common.push([Math.max(first, from), Math.min(last, to)]);
    }
  }
  return common;
}
