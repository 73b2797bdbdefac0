import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { codes } from '../../../src/cri/errors.ts';
import { resizePod } from '../../../src/engine/kuberuntime/resize-pod.ts';
import { podEventRecorder } from '../../../src/engine/view/event-recorder.ts';
import { RpcError } from '../../../src/errors.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { makeNodeResources } from './node-resources.ts';

const memory = (limit: string) => ({ resources: { limits: { memory: limit } } });
const pod = makePod({
  spec: {
    containers: [makeContainer({ name: 'a', ...memory('2Mi') }), makeContainer({ name: 'b', ...memory('1Mi') })],
  },
});
const before = { 'a-id': { limits: { memory: '1Mi' } }, 'b-id': { limits: { memory: '3Mi' } } };

/** Resizes both containers of the pod. Returns everything that was done, in order. */
async function resize({ refused = {} }: { refused?: Record<string, Error> } = {}) {
  const done: string[] = [];
  const limits = ({ spec }: Pod): string =>
    spec.containers.map(({ resources }) => resources?.limits?.['memory']).join(' ');
  const step = async (what: string): Promise<object> => {
    done.push(what);
    const error = refused[what];
    return error === undefined ? {} : Promise.reject(error);
  };
  const events = new EventRecorder(new FakeClock());
  const results = await resizePod(
    {
      runtime: {
        updateContainerResources: async ({ containerId = '', linux } = {}) => {
          await step(`update ${containerId} ${String(linux?.memoryLimitInBytes)}`);
          return {};
        },
      },
      exclusiveCPUs: () => new Set(),
      podCgroups: {
        raise: async (current, next) => {
          await step(`raise ${limits(current)} to ${limits(next)}`);
        },
        resize: async (next) => {
          await step(`pod ${limits(next)}`);
        },
      },
      node: { containerNode: { resources: makeNodeResources() } },
      clock: new FakeClock(),
    },
    {
      pod,
      outdated: before,
      containersToResize: [
        { containerID: 'a-id', name: 'a', changes: ['memory limit 1Mi → 2Mi'] },
        { containerID: 'b-id', name: 'b', changes: ['memory limit 3Mi → 1Mi'] },
      ],
      recorder: podEventRecorder(events.emit, pod),
      signal: new AbortController().signal,
      onResized: (id) => done.push(`resized ${id}`),
      onFinished: () => done.push('finished'),
      onRefused: (id) => done.push(`refused ${id}`),
    },
  );
  return { done, failures: results.flatMap(({ target, error }) => (error === undefined ? [] : target)) };
}

const raise = 'raise 1Mi 3Mi to 2Mi 1Mi';
const [updateA, updateB] = ['update a-id 2097152', 'update b-id 1048576'];

test('the pod is raised before its containers, and lowered after them', async () => {
  expect(await resize()).toEqual({
    done: [raise, updateA, 'resized a-id', updateB, 'resized b-id', 'pod 2Mi 1Mi', 'finished'],
    failures: [],
  });
});

test('a container that is refused holds up the pod, and no other container', async () => {
  expect(await resize({ refused: { [updateA]: new RpcError('Update', 2, 'busy') } })).toEqual({
    done: [raise, updateA, updateB, 'resized b-id'],
    failures: ['a'],
  });
});

test('a pod that cannot be raised holds up its containers', async () => {
  expect(await resize({ refused: { [raise]: new Error('busy') } })).toEqual({ done: [raise], failures: ['web-node1'] });
});

test('a pod that cannot be lowered yet is not finished', async () => {
  expect(await resize({ refused: { 'pod 2Mi 1Mi': new Error('busy') } })).toEqual({
    done: [raise, updateA, 'resized a-id', updateB, 'resized b-id', 'pod 2Mi 1Mi'],
    failures: ['web-node1'],
  });
});

test('a runtime without updates is told apart from one that fails', async () => {
  const missing = new RpcError('Update', codes.unimplemented, 'unknown method');
  expect((await resize({ refused: { [updateB]: missing } })).done).toContain('refused b-id');
});
