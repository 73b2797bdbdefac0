import { expect, test } from 'vitest';
import type { PodSpec } from '../../../src/api/types.ts';
import { nodeClassesIn } from '../../../src/api/values/node-class.ts';
import { resolveClasses } from '../../../src/api/values/resolve-classes.ts';
import { makePriorityClass, makeRuntimeClass } from '../../builders/node-classes.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

const sandboxed = makeRuntimeClass('sandboxed', {
  overhead: { cpu: '100m' },
  nodeSelector: { sandbox: 'yes' },
  tolerations: [{ key: 'sandbox', operator: 'Exists' }],
});
const high = makePriorityClass('high', 1000, { preemptionPolicy: 'Never' });
const declared = [sandboxed, high];

/** The fields that the classes give a pod, or the problem. */
function resolve(spec: Partial<PodSpec>, classes = declared): unknown {
  const pod = makeStaticPod('web', { spec });
  const result = resolveClasses(pod, nodeClassesIn(classes));
  if ('problem' in result) return `${result.problem.field}: ${result.problem.message}. ${result.problem.hint}`;
  if (result.pod === pod) return 'unchanged';
  return Object.fromEntries(
    Object.entries(result.pod.spec).filter(([field, value]) => value !== pod.spec[field as keyof PodSpec]),
  );
}

test('a RuntimeClass gives overhead, node selector and tolerations', () => {
  const own = { nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'own' }] };
  expect(resolve({ runtimeClassName: 'sandboxed', ...own })).toEqual({
    overhead: { cpu: '100m' },
    nodeSelector: { disk: 'ssd', sandbox: 'yes' },
    tolerations: [{ key: 'own' }, { operator: 'Exists', effect: 'NoExecute' }, { key: 'sandbox', operator: 'Exists' }],
  });
});

test('a PriorityClass gives priority and preemption policy', () => {
  expect(resolve({ priorityClassName: 'high' })).toEqual({ priority: 1000, preemptionPolicy: 'Never' });
  expect(resolve({ priorityClassName: 'system-node-critical' })).toEqual({ priority: 2_000_001_000 });
  expect(resolve({ priorityClassName: 'system-cluster-critical' })).toEqual({ priority: 2_000_000_000 });
});

test('the default class is that of pods with neither class nor priority', () => {
  const defaults = [
    makePriorityClass('more', 20, { globalDefault: true }),
    makePriorityClass('less', 10, { globalDefault: true }),
  ];
  const given = { priority: 10, preemptionPolicy: 'PreemptLowerPriority', priorityClassName: 'less' };
  expect(resolve({}, [...declared, ...defaults])).toEqual(given);
  expect(resolve({ priority: 5 }, [...declared, ...defaults])).toBe('unchanged');
});

test('a pod without a class stays as it is', () => {
  expect(resolve({ overhead: { cpu: '1' }, priority: 5, runtimeClassName: '' })).toBe('unchanged');
});

test('the number of an undeclared PriorityClass counts', () => {
  expect(resolve({ priorityClassName: 'absent', priority: 7 })).toBe('unchanged');
});

test.each<[Partial<PodSpec>, string]>([
  [
    { runtimeClassName: 'absent' },
    'spec.runtimeClassName: no manifest declares RuntimeClass "absent". ' +
      'Declare it with the pod, as a document of kind RuntimeClass. Until then, the pod waits.',
  ],
  [
    { priorityClassName: 'system-node-crtical' },
    'spec.priorityClassName: no manifest declares PriorityClass "system-node-crtical". ' +
      'Did you mean "system-node-critical"? Otherwise declare it. Until then, the pod waits.',
  ],
  [
    { runtimeClassName: 'sandboxed', overhead: { cpu: '1' } },
    'spec.runtimeClassName: spec.overhead is not the overhead of RuntimeClass "sandboxed". ' +
      'Leave spec.overhead out: the class sets it.',
  ],
  [
    { runtimeClassName: 'sandboxed', nodeSelector: { sandbox: 'no' } },
    'spec.runtimeClassName: spec.nodeSelector and RuntimeClass "sandboxed" want different values of the label ' +
      'sandbox. Remove the label from one of them.',
  ],
  [
    { priorityClassName: 'high', priority: 1 },
    'spec.priorityClassName: spec.priority is 1, but PriorityClass "high" has the value 1000. ' +
      'Leave spec.priority out: the class sets it.',
  ],
  [
    { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' },
    'spec.priorityClassName: spec.preemptionPolicy is PreemptLowerPriority, but that of PriorityClass "high" is ' +
      'Never. Leave spec.preemptionPolicy out: the class sets it.',
  ],
])('%j is refused', (spec, message) => {
  expect(resolve(spec)).toBe(message);
});
