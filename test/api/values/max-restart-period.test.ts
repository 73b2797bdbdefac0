import { expect, test } from 'vitest';
import { maxRestartPeriodMs, validateMaxRestartPeriod } from '../../../src/api/values/max-restart-period.ts';
import type { Pod } from '../../../src/api/types.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

const podWith = (text: string): Pod =>
  makeStaticPod('web', { annotations: { 'kubelet-ts.io/max-restart-period': text } });

test.each([
  ['1s', 1000],
  ['30s', 30_000],
  ['1m30s', 90_000],
  [' 5m ', 300_000],
])('a pod may be restarted after %s at most', (text, expected) => {
  expect(validateMaxRestartPeriod(podWith(text))).toEqual([]);
  expect(maxRestartPeriodMs(podWith(text))).toBe(expected);
});

test.each(['', '30', '0', '500ms', '-10s', '5m1s', 'soon'])('"%s" is not a longest wait', (text) => {
  expect(validateMaxRestartPeriod(podWith(text))).toEqual([
    {
      field: 'metadata.annotations[kubelet-ts.io/max-restart-period]',
      type: 'Invalid value',
      message: `"${text}": must be a duration between 1s and 300s, inclusive`,
      hint: 'Such as "30s".',
    },
  ]);
});

test('a pod that says nothing has the longest wait of the node', () => {
  expect(maxRestartPeriodMs(makeStaticPod('web'))).toBeUndefined();
  expect(validateMaxRestartPeriod(makeStaticPod('web'))).toEqual([]);
});
