import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { loadedManifests, loadOptions } from '../../builders/loaded-manifests.ts';

const runtimeClass = `apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: sandboxed}
handler: runsc
overhead: {podFixed: {cpu: 0.1, memory: 64Mi}}
scheduling:
  nodeSelector: {sandbox: "yes"}
  tolerations: [{key: sandbox, operator: Exists}]
`;

const priorityClass = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
preemptionPolicy: Never
`;

test('classes are read next to each other', () => {
  expect(loadManifests(`${runtimeClass}---\n${priorityClass}`, loadOptions)).toEqual({
    pods: [],
    problems: [],
    configObjects: [
      {
        kind: 'RuntimeClass',
        name: 'sandboxed',
        handler: 'runsc',
        overhead: { cpu: '100m', memory: '64Mi' },
        nodeSelector: { sandbox: 'yes' },
        tolerations: [{ key: 'sandbox', operator: 'Exists' }],
      },
      { kind: 'PriorityClass', name: 'high', value: 1000, globalDefault: false, preemptionPolicy: 'Never' },
    ],
  });
});

test('a class is declared once', () => {
  expect(loadedManifests(`${priorityClass}---\n${priorityClass}`)).toEqual({
    pods: [],
    configObjects: ['PriorityClass high'],
    problems: ['9:18 error metadata.name PriorityClass high is declared on line 3 already'],
  });
});

test.each([
  [
    'without a handler',
    runtimeClass.replace('handler: runsc\n', ''),
    ['1:1 error handler Required value: the name that the container runtime has for it'],
  ],
  [
    'with a handler that is no label',
    runtimeClass.replace('runsc', 'Run/sc'),
    [expect.stringMatching(/^4:10 error handler Invalid value: "Run\/sc": /)],
  ],
  [
    'with a namespace',
    runtimeClass.replace('{name: sandboxed}', '{name: sandboxed, namespace: default}'),
    ['3:40 error metadata.namespace Forbidden: an object of this kind has no namespace'],
  ],
  [
    'with a negative overhead',
    runtimeClass.replace('cpu: 0.1', 'cpu: -1'),
    [expect.stringMatching(/^5:\d+ error overhead\.podFixed.* must not be negative$/)],
  ],
  [
    'with a value beyond the limit',
    priorityClass.replace('1000', '1000000001'),
    ['4:8 error value Forbidden: the maximum of a declared class is 1000000000'],
  ],
  [
    'with a reserved name',
    priorityClass.replace('high', 'system-mine'),
    ['3:18 error metadata.name Forbidden: names that start with "system-" are those of built-in classes'],
  ],
  [
    'with an unknown policy',
    priorityClass.replace('Never', 'Nevr'),
    ['5:19 error preemptionPolicy Unsupported value: "Nevr": supported values: "PreemptLowerPriority", "Never"'],
  ],
])('a class %s is refused at its line', (_, text, problems) => {
  expect(loadedManifests(text)).toEqual({ pods: [], configObjects: [], problems });
});

test('the place of a class name is kept', () => {
  const pod = `apiVersion: v1
kind: Pod
metadata: {name: web, uid: u1}
spec:
  runtimeClassName: sandboxed
  priorityClassName: high
  containers: [{name: main, image: app:1}]
`;
  const { classPositions: classPositions, problems } = loadManifests(pod, loadOptions);
  const place = { podUID: 'u1', origin: '/manifests/all.yaml' };
  expect({ classPositions, problems }).toEqual({
    problems: [],
    classPositions: [
      { ...place, field: 'spec.runtimeClassName', line: 5, column: 21 },
      { ...place, field: 'spec.priorityClassName', line: 6, column: 22 },
    ],
  });
});
