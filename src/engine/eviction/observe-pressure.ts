import type { EvictionThreshold } from '../../api/values/eviction-thresholds.ts';
import { diskOf } from './disk-layout.ts';
import type { SignalObservations } from './signal-observations.ts';
import type { NodePressure } from '../view/snapshot.ts';
import { nodePressures, thresholdsMet } from './thresholds-met.ts';

/** State between two checks of the node. Times are monotonic milliseconds. */
export interface PressureState {
  /** Since when each threshold has been exceeded. */
  firstObservedAtMonotonic: ReadonlyMap<EvictionThreshold, number>;
  lastObservedAtMonotonic: ReadonlyMap<NodePressure, number>;
  /** Thresholds that have been exceeded for longer than their grace periods. */
  thresholdsMet: readonly EvictionThreshold[];
  observations: SignalObservations;
}

export const noPressure: PressureState = {
  firstObservedAtMonotonic: new Map(),
  lastObservedAtMonotonic: new Map(),
  thresholdsMet: [],
  observations: new Map(),
};

export interface PressureVerdict {
  state: PressureState;
  /** The conditions of the node, sorted. */
  pressures: NodePressure[];
  /** The threshold to act on now. Undefined if there is none, or if its observation is not new. */
  toRelieve: EvictionThreshold | undefined;
}

/** Evaluates one check of the node. kubelet: eviction/eviction_manager.go synchronize */
export function observePressure(
  last: PressureState,
  observations: SignalObservations,
  settings: { thresholds: readonly EvictionThreshold[]; pressureTransitionMs: number },
  nowMonotonic: number,
): PressureVerdict {
  // A threshold counts as exceeded until usage is below it by the minimum reclaim.
  const met = new Set([
    ...thresholdsMet(settings.thresholds, observations, { enforceMinReclaim: false }),
    ...thresholdsMet(last.thresholdsMet, observations, { enforceMinReclaim: true }),
  ]);
  const firstObservedAtMonotonic = new Map(
    [...met].map((threshold) => [threshold, last.firstObservedAtMonotonic.get(threshold) ?? nowMonotonic]),
  );
  const observed = nodePressures([...met]).map((pressure) => [pressure, nowMonotonic] as const);
  const lastObservedAtMonotonic = new Map([...last.lastObservedAtMonotonic, ...observed]);
  const lasting = [...met].filter(
    (threshold) => nowMonotonic - (firstObservedAtMonotonic.get(threshold) ?? nowMonotonic) >= threshold.gracePeriodMs,
  );
  const observedAgain = lasting.filter(({ signal }) =>
    isNewer(observations.get(signal)?.atMonotonic, last.observations.get(signal)?.atMonotonic),
  );
  return {
    state: { firstObservedAtMonotonic, lastObservedAtMonotonic, thresholdsMet: lasting, observations },
    pressures: [...lastObservedAtMonotonic]
      .filter(([, at]) => nowMonotonic - at < settings.pressureTransitionMs)
      .map(([pressure]) => pressure)
      .sort(),
    toRelieve: observedAgain.find(isAboutMemory) ?? observedAgain[0],
  };
}

/**
 * True if the node freed enough without evicting a pod. kubelet: eviction/eviction_manager.go reclaimNodeLevelResources
 */
export function isRelieved(thresholds: readonly EvictionThreshold[], observations: SignalObservations): boolean {
  return thresholdsMet(thresholds, observations, { enforceMinReclaim: true }).length === 0;
}

/** kubelet: eviction/helpers.go thresholdsUpdatedStats */
function isNewer(atMonotonic: number | undefined, lastAtMonotonic: number | undefined): boolean {
  return atMonotonic !== undefined && (lastAtMonotonic === undefined || atMonotonic > lastAtMonotonic);
}

/** kubelet: eviction/helpers.go byEvictionPriority */
function isAboutMemory({ signal }: EvictionThreshold): boolean {
  return diskOf(signal) === undefined && signal !== 'pid.available';
}
