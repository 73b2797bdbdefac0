import { expect, test } from 'vitest';
import { independentErrors } from '../../../src/api/decoding/independent-errors.ts';
import type { FieldError } from '../../../src/api/values/field-errors.ts';

const errors = Array.from({ length: 5000 }, (_, index): FieldError => {
  return { type: 'Invalid value', field: `data[a ${index}]`, message: '' };
});

/** Milliseconds of CPU, without the time to compile. */
function cpuOf(brokenFields: readonly string[]): number {
  expect(independentErrors(errors, brokenFields)).toEqual(errors);
  const before = process.cpuUsage();
  independentErrors(errors, brokenFields);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('many broken fields make the comparison with each error little dearer', () => {
  const broken = Array.from({ length: 49 }, (_, index) => `data.k${index}`);
  const [one, all] = [cpuOf(broken.slice(0, 1)), cpuOf(broken)];
  expect(all).toBeLessThan(10 * one);
});
