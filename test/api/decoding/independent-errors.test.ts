import { expect, onTestFinished, test, vi } from 'vitest';
import { independentErrors } from '../../../src/api/decoding/independent-errors.ts';
import type { FieldError } from '../../../src/api/values/field-errors.ts';

test('each path is computed once, however many rules and fields are broken', () => {
  const errors = Array.from({ length: 1000 }, (_, index): FieldError => {
    return { type: 'Invalid value', field: `data[a ${index}]`, message: '' };
  });
  const broken = Array.from({ length: 49 }, (_, index) => `data.k${index}`);
  const computations = vi.spyOn(String.prototype, 'replaceAll');
  onTestFinished(() => {
    computations.mockRestore();
  });
  expect(independentErrors(errors, broken)).toEqual(errors);
  // That of a broken field, and that of the part of the object that has it.
  expect(computations.mock.calls.length).toBeLessThanOrEqual(errors.length + 2 * broken.length);
});
