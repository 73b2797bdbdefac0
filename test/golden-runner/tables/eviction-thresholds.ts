import type { EvictionThreshold, ThresholdValue } from '../../../src/api/values/eviction-thresholds.ts';
import { formatQuantity } from '../../../src/api/values/quantity.ts';
import { type RecordedSettings, thresholdsOf } from '../eviction-record.ts';
import { tableAdapter } from '../table-adapter.ts';

export const evictionThresholds = tableAdapter<RecordedSettings>('eviction-thresholds', (settings) => {
  const thresholds = thresholdsOf(settings);
  if (!thresholds) return { ok: false };
  return { ok: true, thresholds: thresholds.sort(bySignal).map(shown) };
});

function bySignal(a: EvictionThreshold, b: EvictionThreshold): number {
  return a.signal === b.signal ? a.gracePeriodMs - b.gracePeriodMs : a.signal < b.signal ? -1 : 1;
}

function shown({ signal, value, gracePeriodMs, minReclaim }: EvictionThreshold): object {
  return {
    signal,
    operator: 'LessThan',
    gracePeriodSeconds: gracePeriodMs / 1000,
    ...shownValue(value),
    ...(minReclaim && { minReclaim: shownValue(minReclaim) }),
  };
}

function shownValue(value: ThresholdValue): object {
  return 'quantity' in value
    ? { quantity: formatQuantity(value.quantity) }
    : { percentage: fewestDigits(value.percentage) };
}

/** Of the texts that stand for one 32-bit float the shortest. */
function fewestDigits(float: number): string {
  if (Object.is(float, -0)) return '-0';
  const precisions = Array.from({ length: 9 }, (_, index) => index + 1);
  const texts = precisions.map((precision) => String(Number(float.toPrecision(precision))));
  return texts.find((text) => Math.fround(Number(text)) === float) ?? String(float);
}
