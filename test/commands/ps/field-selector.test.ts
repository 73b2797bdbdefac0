import { expect, test } from 'vitest';
import { parseFieldSelector } from '../../../src/commands/ps/pod-selector.ts';
import { makePod } from '../../builders/pods.ts';

const pod = makePod({
  metadata: { name: 'web-edge1', namespace: 'shop' },
  spec: { nodeName: 'edge1', restartPolicy: 'OnFailure' },
  status: { phase: 'Running', podIP: '10.0.0.7' },
});

test.each([
  ['status.phase=Running', true],
  ['status.phase==Running', true],
  ['status.phase!=Running', false],
  ['status.phase=Running,metadata.namespace=shop', true],
  ['status.phase=Running, metadata.namespace!=shop', false],
  ['spec.nodeName=edge1', true],
  ['spec.restartPolicy=Always', false],
  ['spec.hostNetwork=false', true],
  ['spec.serviceAccountName=', true],
  ['status.podIP=10.0.0.7', true],
])('%s is %s for a running pod of the namespace shop', (selector, selected) => {
  expect(parseFieldSelector(selector)(pod)).toBe(selected);
});

test.each([
  ['phase', '"phase" is not a field selector', 'Write it as status.phase=Running,metadata.name!=web.'],
  ['status.fase=Running', 'pods cannot be selected by the field "status.fase"', 'Did you mean status.phase?'],
  [
    'toString=x',
    'pods cannot be selected by the field "toString"',
    'These fields can be selected: metadata.name, metadata.namespace, spec.nodeName, spec.restartPolicy, ' +
      'spec.schedulerName, spec.serviceAccountName, spec.hostNetwork, status.phase, status.podIP.',
  ],
])('%s is an error that says what to write', (selector, message, hint) => {
  expect(() => parseFieldSelector(selector)).toThrow(expect.objectContaining({ message, hint }) as Error);
});
