import type { ThresholdValue } from './eviction-thresholds.ts';
import { type Quantity, quantityValue } from './quantity.ts';

/** What a threshold comes to for a resource of this capacity. kubelet: eviction/api/types.go GetThresholdQuantity */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if ('quantity' in value) return value.quantity;
  const amount = Math.trunc(Number(quantityValue(capacity)) * value.percentage);
  return { nanos: BigInt(amount) * 1_000_000_000n, format: 'BinarySI' };
}
