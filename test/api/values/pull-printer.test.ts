import { expect, test } from 'vitest';
import { pullText } from '../../../src/api/values/pod-printer.ts';

test.each([
  [{ receivedBytes: 12_345_678, totalBytes: 17_400_000 }, '70% 12.3/17.4 MB'],
  [{ receivedBytes: 17_400_000, totalBytes: 17_400_000 }, '100% 17.4/17.4 MB'],
  [{ receivedBytes: 999_999, totalBytes: 1_000_000 }, '99% 1.0/1.0 MB'],
  [{ receivedBytes: 400_000 }, '0.4 MB'],
])('%j is %s', (pull, text) => {
  expect(pullText(pull)).toBe(text);
});
