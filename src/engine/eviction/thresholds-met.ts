import {
  type EvictionSignal,
  type EvictionThreshold,
  thresholdQuantity,
} from '../../api/values/eviction-thresholds.ts';
import { addQuantities, compareQuantities } from '../../api/values/quantity.ts';
import type { NodePressure } from '../view/snapshot.ts';
import type { SignalObservations } from './signal-observations.ts';

/**
 * Returns the thresholds that are exceeded now, ignoring grace periods. With `enforceMinReclaim`, a threshold also
 * counts until usage is below it by its minimum reclaim. kubelet: eviction/helpers.go thresholdsMet
 */
export function thresholdsMet(
  thresholds: readonly EvictionThreshold[],
  observations: SignalObservations,
  { enforceMinReclaim }: { enforceMinReclaim: boolean },
): EvictionThreshold[] {
  return thresholds.filter(({ signal, value, minReclaim }) => {
    const observed = observations.get(signal);
    if (!observed) return false;
    const wanted = thresholdQuantity(value, observed.capacity);
    const extra = enforceMinReclaim && minReclaim ? [thresholdQuantity(minReclaim, observed.capacity)] : [];
    return compareQuantities(extra.reduce(addQuantities, wanted), observed.available) > 0;
  });
}

/** Returns the node conditions of these thresholds, sorted. kubelet: eviction/helpers.go nodeConditions */
export function nodePressures(thresholds: readonly Pick<EvictionThreshold, 'signal'>[]): NodePressure[] {
  return [...new Set(thresholds.map(({ signal }) => pressureOf(signal)))].sort();
}

/** Returns the node condition of a signal. */
export function pressureOf(signal: EvictionSignal): NodePressure {
  if (signal === 'memory.available' || signal === 'allocatableMemory.available') return 'MemoryPressure';
  return signal === 'pid.available' ? 'PIDPressure' : 'DiskPressure';
}
