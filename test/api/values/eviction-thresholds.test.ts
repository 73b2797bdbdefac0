import { describe, expect, test } from 'vitest';
import {
  parseMinimumReclaim,
  parseThresholdValue,
  type ThresholdValue,
  thresholdQuantity,
} from '../../../src/api/values/eviction-thresholds.ts';
import { toQuantity } from '../../../src/api/values/quantity.ts';

describe('a percentage', () => {
  test.each([
    ['10%', 0.1],
    ['-0%', -0],
    ['0x1p3%', 0.08],
    ['0X.8P+4%', 0.08],
    ['+0x1_0p-1%', 0.08],
    ['0x0p9999%', 0],
    ['1_0%', 0.1],
    ['NaN%', NaN],
    ['nan%', NaN],
  ])('%s is %d', (text, percentage) => {
    expect(parseThresholdValue(text)).toEqual({ percentage: Math.fround(percentage) });
  });

  test.each(['0x10%', '0xp3%', '0x1p%', '0x_p3%', '1__0%', '_1%', '1_%', '+NaN%', 'NaNs%', 'Inf%', '-1%', '101%', '%'])(
    '%s is refused',
    (text) => {
      expect(parseThresholdValue(text)).toBeUndefined();
    },
  );

  test.each<[string, ThresholdValue | undefined]>([
    ['+Inf%', { percentage: Infinity }],
    ['infinity%', { percentage: Infinity }],
    ['NaN%', { percentage: NaN }],
    ['-Inf%', undefined],
    ['1e39%', undefined],
    ['0%', undefined],
  ])('that is to be reclaimed, %s, is %j', (text, value) => {
    expect(parseMinimumReclaim(text)).toEqual(value);
  });

  test.each(['NaN%', 'Inf%'])('that is no number, %s, is an amount of zero', (text) => {
    const value = parseMinimumReclaim(text);
    expect(value && thresholdQuantity(value, toQuantity('8Gi'))).toEqual({ nanos: 0n, format: 'BinarySI' });
  });
});
