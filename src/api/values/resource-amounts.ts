import { quantityMilliValue, quantityValue, toQuantity, zeroQuantity } from './quantity.ts';
import type { ResourceTotals } from './resource-totals.ts';
import type { ResourceList } from '../types.ts';

/** A resource list as quantities. A resource that is not declared is absent, which differs from zero. */
export function toTotals(list: ResourceList = {}): ResourceTotals {
  return new Map(Object.entries(list).map(([name, text]) => [name, toQuantity(text)]));
}

/** Thousandths of a CPU; 0 if cpu is not declared. */
export function milliCPU(totals: ResourceTotals): bigint {
  return quantityMilliValue(totals.get('cpu') ?? zeroQuantity);
}

/** Bytes of memory; 0 if memory is not declared. */
export function memoryBytes(totals: ResourceTotals): bigint {
  return quantityValue(totals.get('memory') ?? zeroQuantity);
}
