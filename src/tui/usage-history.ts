import type { PodUsage } from '../engine/view/snapshot.ts';

/** The newest samples of a pod, oldest first. */
export interface UsageHistory {
  nanoCores: readonly number[];
  memoryBytes: readonly number[];
}

/** Samples by pod UID. */
export type UsageHistories = Readonly<Record<string, UsageHistory>>;

/** Samples that the screen keeps of each pod, and the width of a sparkline. */
const maxSamples = 8;

/** Adds a sample of each pod. Pods without a sample are dropped. */
export function nextUsages(histories: UsageHistories, sampled: readonly PodUsage[]): UsageHistories {
  return Object.fromEntries(
    sampled.map(({ uid, nanoCores, memoryBytes }) => {
      const before = histories[uid] ?? { nanoCores: [], memoryBytes: [] };
      return [
        uid,
        { nanoCores: extended(before.nanoCores, nanoCores), memoryBytes: extended(before.memoryBytes, memoryBytes) },
      ];
    }),
  );
}

function extended(samples: readonly number[], next: number | undefined): readonly number[] {
  return next === undefined ? samples : [...samples, next].slice(-maxSamples);
}

/** The newest CPU usage in millicores, with a sparkline. Empty without a sample. */
export function cpuText({ nanoCores }: UsageHistory): string {
  return textWithLine(nanoCores, (value) => `${Math.ceil(value / 1e6)}m`);
}

/** The newest working set, with a sparkline. Empty without a sample. */
export function memoryText({ memoryBytes }: UsageHistory): string {
  return textWithLine(memoryBytes, (value) => `${Math.trunc(value / 1024 / 1024)}Mi`);
}

function textWithLine(samples: readonly number[], format: (value: number) => string): string {
  const newest = samples.at(-1);
  return newest === undefined ? '' : `${format(newest).padStart(6)} ${sparkline(samples)}`;
}

/** A bar for each value, from zero to the largest one. */
export function sparkline(values: readonly number[]): string {
  const bars = '▁▂▃▄▅▆▇█';
  const most = Math.max(...values, 1);
  return values.map((value) => bars[Math.round((value / most) * (bars.length - 1))] ?? '').join('');
}
