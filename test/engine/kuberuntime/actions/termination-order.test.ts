import { expect, test } from 'vitest';
import { terminationOrder } from '../../../../src/engine/kuberuntime/kill-pod.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

const sidecar = (name: string) => makeContainer({ name, restartPolicy: 'Always' });

test('sidecars wait for all regular containers and for the sidecar after them', () => {
  const pod = makePod({
    spec: {
      initContainers: [sidecar('first'), makeContainer({ name: 'setup' }), sidecar('second')],
      containers: [makeContainer({ name: 'web' }), makeContainer({ name: 'log' })],
    },
  });
  expect(terminationOrder(pod, new Set(['first', 'second', 'setup', 'web']))).toEqual(
    new Map([
      ['first', ['web', 'second']],
      ['second', ['web']],
      ['setup', []],
      ['web', []],
    ]),
  );
});

test('a sidecar that was removed ends the chain', () => {
  const pod = makePod({ spec: { initContainers: [sidecar('first'), sidecar('second'), sidecar('third')] } });
  expect(terminationOrder(pod, new Set(['first', 'third', 'web']))).toEqual(
    new Map([
      ['first', ['web']],
      ['third', ['web']],
      ['web', []],
    ]),
  );
});

test('nobody waits in a pod without sidecars', () => {
  expect(terminationOrder(makePod(), new Set(['web']))).toEqual(new Map([['web', []]]));
});
