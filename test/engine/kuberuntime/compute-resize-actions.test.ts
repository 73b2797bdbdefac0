import { expect, test } from 'vitest';
import { noProbeResults } from '../../../src/engine/container/probe-results.ts';
import { computePodActions } from '../../../src/engine/kuberuntime/actions/compute-pod-actions.ts';
import { computeResizeActions } from '../../../src/engine/kuberuntime/actions/compute-resize-actions.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus } from '../../builders/pods.ts';

const memory = (limit: string) => ({ limits: { memory: limit } });
const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
const containers = [
  makeContainer({ name: 'plain', resources: memory('2Mi') }),
  makeContainer({ name: 'restarted', resources: memory('2Mi'), resizePolicy }),
  makeContainer({ name: 'same', resources: memory('2Mi') }),
];
const sidecar = makeContainer({ name: 'sidecar', restartPolicy: 'Always', resources: memory('2Mi') });
const pod = makePod({ spec: { initContainers: [sidecar], containers } });
const running = [sidecar, ...containers].map((container) =>
  makeContainerStatus(container, { id: `${container.name}-id` }),
);
const outdated = Object.fromEntries(['plain', 'restarted', 'sidecar'].map((name) => [`${name}-id`, memory('1Mi')]));

/** What a sync does with these containers, as a text. */
function resized({ statuses = running, from = outdated, refused = [] as string[] } = {}) {
  const podStatus = makePodStatus(pod, { containerStatuses: statuses });
  const actions = computePodActions(pod, podStatus, noProbeResults);
  const { actions: planned, containersToResize } = computeResizeActions(
    pod,
    podStatus,
    actions,
    from,
    new Set(refused),
  );
  return {
    kill: planned.containersToKill.map(({ message }) => message),
    start: [...planned.initContainersToStart, ...planned.containersToStart],
    resize: containersToResize.map(({ name, changes }) => [name, ...changes].join(': ')),
  };
}

test('a running container is resized, or restarts if its resizePolicy wants that', () => {
  expect(resized()).toEqual({
    kill: ['Container restarted resize requires restart'],
    start: [1],
    resize: ['sidecar: memory limit 1Mi → 2Mi', 'plain: memory limit 1Mi → 2Mi'],
  });
});

test('containers that the runtime cannot resize restart', () => {
  expect(
    resized({ from: { 'sidecar-id': memory('1Mi'), 'same-id': memory('1Mi') }, refused: ['sidecar-id', 'same-id'] }),
  ).toEqual({
    kill: ['Container sidecar resize requires restart', 'Container same resize requires restart'],
    start: [0, 2],
    resize: [],
  });
});

test('a resize that may have been interrupted is repeated', () => {
  expect(resized({ from: { 'same-id': memory('2Mi') } })).toEqual({ kill: [], start: [], resize: ['same'] });
});

test('a container that restarts anyway is not resized', () => {
  const changed = makeContainerStatus(makeContainer({ name: 'plain', image: 'before:1' }), { id: 'plain-id' });
  const statuses = running.map((status) => (status.name === 'plain' ? changed : status));
  expect(resized({ statuses, from: { 'plain-id': memory('1Mi') } })).toEqual({
    kill: ['Container plain definition changed, will be restarted'],
    start: [0],
    resize: [],
  });
});
