import { describe, expect, test } from 'vitest';
import {
  parseMinimumReclaim,
  parseThresholdValue,
  type ThresholdValue,
} from '../../../src/api/values/eviction-thresholds.ts';

describe('a percentage', () => {
  test.each([
    ['10%', 0.1],
    ['-0%', -0],
    ['1e1%', 0.1],
    ['+.5%', 0.005],
  ])('%s is %d', (text, percentage) => {
    expect(parseThresholdValue(text)).toEqual({ percentage: Math.fround(percentage) });
  });

  test.each(['0x10%', '0x1p3%', '1_0%', 'NaN%', 'Inf%', '-1%', '101%', '%'])('%s is refused', (text) => {
    expect(parseThresholdValue(text)).toBeUndefined();
  });

  test.each<[string, ThresholdValue | undefined]>([
    ['12.5%', { percentage: 0.125 }],
    ['Inf%', undefined],
    ['NaN%', undefined],
    ['1e39%', undefined],
    ['0%', undefined],
  ])('that is to be reclaimed, %s, is %j', (text, value) => {
    expect(parseMinimumReclaim(text)).toEqual(value);
  });
});
