import { expect, test } from 'vitest';
import { otherResourceHint } from '../../../src/commands/objects/other-resources.ts';
import { podList } from '../../../src/commands/pod/pod-list.ts';

test('the hint for an unknown pod names ten pods at most', () => {
  const names = Array.from({ length: 12 }, (_, index) => `default/pod${String.fromCharCode(97 + index)}`);
  expect(podList([])).toBe('There are no pods.');
  expect(podList(['b/web', 'a/db', 'b/web'])).toBe('Pods: a/db, b/web.');
  expect(podList(names)).toBe(`Pods: ${names.slice(0, 10).join(', ')} and 2 more: kubelet-ts ps.`);
});

test('a kind of kubectl that is named as a pod is explained', () => {
  const workload = 'List workloads: kubelet-ts get all. Show one: kubelet-ts describe deploy/web';
  expect(['deployment', 'Deployments', 'sts', 'web', 'pods'].map(otherResourceHint)).toEqual([
    workload,
    workload,
    workload,
    undefined,
    undefined,
  ]);
});
