import { expect, test } from 'vitest';
import { computeRestart } from '../../../src/engine/operations/compute-restart.ts';
import type { RuntimeContainerStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus } from '../../builders/pods.ts';

const pod = makePod({
  spec: {
    initContainers: [makeContainer({ name: 'init' }), makeContainer({ name: 'proxy', restartPolicy: 'Always' })],
    containers: [makeContainer({ name: 'app' }), makeContainer({ name: 'done' })],
  },
});
const made = (id: string, name: string, state: 'running' | 'exited'): RuntimeContainerStatus => ({
  ...makeContainerStatus(makeContainer({ name }), { state }),
  id,
});
const status = makePodStatus(pod, {
  containerStatuses: [
    made('1', 'init', 'running'),
    made('2', 'proxy', 'running'),
    made('3', 'app', 'running'),
    made('4', 'app', 'exited'),
    made('5', 'done', 'exited'),
  ],
});

test.each<[string, string | undefined, string[] | undefined]>([
  ['running containers and sidecars, without init containers', undefined, ['2', '3']],
  ['a sidecar alone', 'proxy', ['2']],
  ['a container alone', 'app', ['3']],
  ['nothing of a container that has ended', 'done', []],
  ['no init container', 'init', undefined],
  ['no container that the pod lacks', 'other', undefined],
])('a restart ends %s', (_title, container, ids) => {
  expect(computeRestart(pod, status, container)).toEqual(ids);
});
