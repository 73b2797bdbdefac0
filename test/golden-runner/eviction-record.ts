import {
  type EvictionSettings,
  type EvictionThreshold,
  parseEvictionThresholds,
} from '../../src/api/values/eviction-thresholds.ts';

/** Eviction settings as the tables give them; what is absent is empty. */
export type RecordedSettings = Partial<EvictionSettings>;

export function thresholdsOf(settings: RecordedSettings): EvictionThreshold[] | undefined {
  return parseEvictionThresholds({
    evictionHard: {},
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
    ...settings,
  });
}

/** A clock that was never set: both clocks show the same time. */
export const unsetWallClock = { monotonicAt: (stamp: number): number => stamp };

/** As the tables name thresholds, sorted. */
export function recordedNames(thresholds: readonly EvictionThreshold[]): string[] {
  return thresholds.map(({ signal, gracePeriodMs }) => (gracePeriodMs === 0 ? signal : `${signal} soft`)).sort();
}
