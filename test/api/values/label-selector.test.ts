import { expect, test } from 'vitest';
import { parseLabelSelector } from '../../../src/api/values/label-selector.ts';

const labels = { app: 'web', tier: 'front', 'example.com/env': 'a' };

test.each([
  ['app=web', true],
  ['app==web', true],
  ['app=api', false],
  ['app!=api', true],
  ['missing!=api', true],
  ['app=web,tier!=front', false],
  ['app=web, tier=front', true],
  ['example.com/env in (a, b),app', true],
  ['example.com/env notin (a,b)', false],
  ['missing notin (a)', true],
  ['missing in (a)', false],
  ['tier', true],
  ['!tier', false],
  ['!missing', true],
  ['empty=', false],
])('%s selects these labels: %s', (selector, expected) => {
  expect(parseLabelSelector(selector)(labels)).toBe(expected);
});

test.each(['', 'a=b=c', 'app in web', '=web', 'app=web,,tier'])('%j is not a selector', (selector) => {
  expect(() => parseLabelSelector(selector)).toThrow(`"${selector}" is not a label selector`);
});
