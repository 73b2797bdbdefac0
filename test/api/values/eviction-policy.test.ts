import { expect, test } from 'vitest';
import type { PodSpec } from '../../../src/api/types.ts';
import { isEvictable } from '../../../src/api/values/eviction-policy.ts';
import { makePod } from '../../builders/pods.ts';

test.each<[spec: Partial<PodSpec>, expected: boolean]>([
  [{}, true],
  [{ priority: 1_999_999_999 }, true],
  [{ priority: 2_000_000_000 }, false],
  [{ priorityClassName: 'system-cluster-critical' }, false],
  [{ priorityClassName: 'system-node-critical' }, false],
])('a static pod with %j may be evicted by its priority: %s', (spec, expected) => {
  expect(isEvictable(makePod({ spec }), 'byPriority')).toBe(expected);
});

test('the policy of the kubelet evicts no static pod', () => {
  expect(isEvictable(makePod(), 'kubelet')).toBe(false);
});
