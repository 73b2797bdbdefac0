import { formatQuantity, parseQuantity, quantityMilliValue, quantityValue } from '../../../src/api/values/quantity.ts';
import { tableAdapter } from '../table-adapter.ts';

export const quantity = tableAdapter<{ s: string }>('quantity', ({ s }) => {
  const parsed = parseQuantity(s);
  if (!parsed) return { ok: false };
  return {
    ok: true,
    string: formatQuantity(parsed),
    format: parsed.format,
    sign: parsed.nanos > 0n ? 1 : parsed.nanos < 0n ? -1 : 0,
    value: quantityValue(parsed).toString(),
    milliValue: quantityMilliValue(parsed).toString(),
  };
});
