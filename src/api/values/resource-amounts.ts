import { quantityMilliValue, quantityValue, zeroQuantity } from './quantity.ts';
import type { ResourceTotals } from './resource-totals.ts';

/** Thousandths of a CPU; 0 if cpu is not declared. */
export function milliCPU(totals: ResourceTotals): bigint {
  return quantityMilliValue(totals.get('cpu') ?? zeroQuantity);
}

/** Bytes of memory; 0 if memory is not declared. */
export function memoryBytes(totals: ResourceTotals): bigint {
  return quantityValue(totals.get('memory') ?? zeroQuantity);
}
