import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  subtractQuantities,
} from '../../../src/api/values/quantity.ts';
import { tableAdapter } from '../table-adapter.ts';

export const quantityOps = tableAdapter<{ a: string; b: string }>('quantity-ops', ({ a, b }) => {
  const [left, right] = [parseQuantity(a), parseQuantity(b)];
  if (!left || !right) return { ok: false };
  return {
    ok: true,
    cmp: compareQuantities(left, right),
    sum: formatQuantity(addQuantities(left, right)),
    difference: formatQuantity(subtractQuantities(left, right)),
  };
});
