import { parseDuration } from './duration.ts';
import { parseFloat32 } from './go-numbers.ts';
import { parseQuantity, type Quantity, quantityValue } from './quantity.ts';

/** The signals of eviction. kubelet: eviction/api/types.go Signal, eviction/helpers.go validSignal */
export const evictionSignals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;
export type EvictionSignal = (typeof evictionSignals)[number];

/** An amount, or a part of the capacity: 0.1 for 10%, as a 32-bit float, because the rounding shows in products. */
export type ThresholdValue = { quantity: Quantity } | { percentage: number };

/** Pods are evicted when a signal falls below this value. kubelet: eviction/api/types.go Threshold */
export interface EvictionThreshold {
  signal: EvictionSignal;
  value: ThresholdValue;
  /** How long the signal must stay below the value. 0 marks a hard threshold, which also gives pods no grace period. */
  gracePeriodMs: number;
  /** How far the signal must rise above the value before the threshold counts as no longer met. */
  minReclaim?: ThresholdValue;
}

/** The eviction settings of a KubeletConfiguration. */
export interface EvictionSettings {
  evictionHard: Readonly<Record<string, string>>;
  evictionSoft: Readonly<Record<string, string>>;
  evictionSoftGracePeriod: Readonly<Record<string, string>>;
  evictionMinimumReclaim: Readonly<Record<string, string>>;
  enforceNodeAllocatable: readonly string[];
}

export function isEvictionSignal(text: string): text is EvictionSignal {
  return evictionSignals.some((signal) => signal === text);
}

/**
 * The thresholds of the settings. Returns undefined if `validateEviction` would report an error. kubelet:
 * eviction/helpers.go ParseThresholdConfig
 */
export function parseEvictionThresholds(settings: EvictionSettings): EvictionThreshold[] | undefined {
  const gracePeriods = parseEach(settings.evictionSoftGracePeriod, parseGracePeriodMs);
  const reclaims = parseEach(settings.evictionMinimumReclaim, parseMinimumReclaim);
  const hard = parseEach(settings.evictionHard, parseThresholdValue);
  const soft = parseEach(settings.evictionSoft, parseThresholdValue);
  if (!gracePeriods || !reclaims || !hard || !soft) return undefined;
  const needGracePeriod = [...soft].filter(([, value]) => value !== 'never');
  if (needGracePeriod.some(([signal]) => !gracePeriods.has(signal))) return undefined;
  const thresholds = [
    ...[...hard].map(([signal, value]) => ({ signal, value, gracePeriodMs: 0 })),
    ...[...soft].map(([signal, value]) => ({ signal, value, gracePeriodMs: gracePeriods.get(signal) ?? 0 })),
  ].flatMap(({ value, ...threshold }): EvictionThreshold[] => {
    const minReclaim = reclaims.get(threshold.signal);
    return value === 'never' ? [] : [{ ...threshold, value, ...(minReclaim && { minReclaim }) }];
  });
  return settings.enforceNodeAllocatable.includes('pods') ? withAllocatableMemory(thresholds) : thresholds;
}

/**
 * Adds a threshold on the pods' memory for each hard threshold on all memory. kubelet: eviction/helpers.go
 * addAllocatableThresholds
 */
function withAllocatableMemory(thresholds: readonly EvictionThreshold[]): EvictionThreshold[] {
  const hard = thresholds.filter(({ signal, gracePeriodMs }) => signal === 'memory.available' && gracePeriodMs === 0);
  return [
    ...thresholds,
    ...hard.map((threshold) => ({ ...threshold, signal: 'allocatableMemory.available' as const })),
  ];
}

/**
 * Parses a threshold. Returns undefined if the text is not a threshold, `never` for 0% and 100%. kubelet:
 * eviction/helpers.go parseThresholdStatement
 */
export function parseThresholdValue(text: string): ThresholdValue | 'never' | undefined {
  if (text === '0%' || text === '100%') return 'never';
  if (text.endsWith('%')) {
    const percentage = parsePercentage(text);
    return percentage !== undefined && percentage >= 0 && percentage <= 1 ? { percentage } : undefined;
  }
  const quantity = parseQuantity(text);
  return quantity && quantity.nanos > 0n ? { quantity } : undefined;
}

/** Returns undefined if the text is not a reclaim amount. kubelet: eviction/helpers.go parseMinimumReclaims */
export function parseMinimumReclaim(text: string): ThresholdValue | undefined {
  if (text.endsWith('%')) {
    const percentage = parsePercentage(text);
    return percentage !== undefined && percentage > 0 ? { percentage } : undefined;
  }
  const quantity = parseQuantity(text);
  return quantity && quantity.nanos >= 0n ? { quantity } : undefined;
}

/** Returns undefined if the text is not a duration. kubelet: eviction/helpers.go parseGracePeriods */
export function parseGracePeriodMs(text: string): number | undefined {
  const nanoseconds = parseDuration(text);
  return nanoseconds !== undefined && nanoseconds >= 0n ? Number(nanoseconds) / 1e6 : undefined;
}

/** kubelet: eviction/helpers.go parsePercentage */
function parsePercentage(text: string): number | undefined {
  const float = parseFloat32(text.replace(/%+$/, ''));
  return float === undefined ? undefined : Math.fround(float / 100);
}

/** Returns undefined if a signal is unknown or a value is invalid. */
function parseEach<T>(
  settings: Readonly<Record<string, string>>,
  parse: (text: string) => T | undefined,
): Map<EvictionSignal, T> | undefined {
  const parsed = new Map<EvictionSignal, T>();
  for (const [signal, text] of Object.entries(settings)) {
    const value = parse(text);
    if (!isEvictionSignal(signal) || value === undefined) return undefined;
    parsed.set(signal, value);
  }
  return parsed;
}

/** The amount of a threshold for a given capacity. kubelet: eviction/api/types.go GetThresholdQuantity */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if ('quantity' in value) return value.quantity;
  const amount = Math.trunc(Number(quantityValue(capacity)) * value.percentage);
  return { nanos: BigInt(amount) * 1_000_000_000n, format: 'BinarySI' };
}
