import { expect, test } from 'vitest';
import type { ContainerStatus } from '../../../src/api/types.ts';
import { outdatedContainers } from '../../../src/engine/sync-loop/outdated-containers.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus } from '../../builders/pods.ts';

const before = makeContainer({ image: 'web:1' });
const now = makeContainer({ image: 'web:2' });

function statusOf(id: string, state: ContainerStatus['state'] = { running: {} }): ContainerStatus {
  const containerID = `containerd://${id}`;
  return { name: 'web', image: '', imageID: '', ready: true, restartCount: 0, containerID, state };
}

test.each([
  ['made from this manifest', 'new', []],
  ['made from an earlier one', 'old', ['web']],
  ['that the runtime has no more', 'gone', ['web']],
])('a container %s', (_what, id, outdated) => {
  const pod = makePod({ spec: { containers: [now] }, status: { containerStatuses: [statusOf(id)] } });
  const containerStatuses = [makeContainerStatus(before, { id: 'old' }), makeContainerStatus(now, { id: 'new' })];
  const podStatus = makePodStatus(pod, { containerStatuses });
  expect(outdatedContainers(pod, pod, { podStatus, applied: pod, resources: {} })).toEqual(outdated);
});

test('what does not run is not outdated, nor what is not declared any more', () => {
  const ended = statusOf('old', { terminated: { exitCode: 0 } });
  const removed = { ...statusOf('old'), name: 'removed' };
  const pod = makePod({ spec: { containers: [now] }, status: { containerStatuses: [ended, removed] } });
  const podStatus = makePodStatus(pod, { containerStatuses: [] });
  expect(outdatedContainers(pod, pod, { podStatus, applied: pod, resources: {} })).toEqual([]);
});

test('a container is outdated until it has the image and the resources of the newest manifest', () => {
  const larger = makeContainer({ image: 'web:2', resources: { limits: { memory: '64Mi' } } });
  const pod = makePod({ spec: { containers: [now] }, status: { containerStatuses: [statusOf('new')] } });
  const next = makePod({ spec: { containers: [larger] } });
  const podStatus = makePodStatus(pod, { containerStatuses: [makeContainerStatus(now, { id: 'new' })] });
  // The update waits, then its worker carries it out, then the container has its resources.
  expect(outdatedContainers(pod, next, { podStatus, applied: pod, resources: {} })).toEqual(['web']);
  expect(outdatedContainers(pod, next, { podStatus, applied: next, resources: { new: {} } })).toEqual(['web']);
  expect(outdatedContainers(pod, next, { podStatus, applied: next, resources: {} })).toEqual([]);
});
