import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { codes } from '../../../src/cri/errors.ts';
import { ListContainerStatsResponse } from '../../../src/cri/generated/cri.ts';
import { podCgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { type PodResize, resizePod } from '../../../src/engine/kuberuntime/resize-pod.ts';
import { podEventRecorder } from '../../../src/engine/view/event-recorder.ts';
import { RpcError } from '../../../src/errors.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { makeNodeResources } from './node-resources.ts';

type Linux = Partial<Record<'cpuShares' | 'cpuQuota' | 'memoryLimitInBytes', unknown>>;

const textOf = ({ cpuShares, cpuQuota, memoryLimitInBytes: memory }: Linux = {}): string =>
  `${String(cpuShares)} ${String(cpuQuota)} ${memory === 2n ** 63n - 4096n ? 'unlimited' : String(memory)}`;

/** Resizes a pod. Returns everything that was done, in order: for limits, shares, quota and memory. */
async function resizeOf(
  pod: Pod,
  more: Pick<PodResize, 'outdated' | 'containersToResize'> & Partial<PodResize>,
  refused: Record<string, Error> = {},
  usedBytes: Record<string, bigint> = {},
) {
  const { stats } = ListContainerStatsResponse.fromPartial({
    stats: Object.entries(usedBytes).map(([id, value]) => ({
      attributes: { id },
      memory: { workingSetBytes: { value } },
    })),
  });
  const done: string[] = [];
  const step = async (what: string): Promise<object> => {
    done.push(what);
    const error = refused[what];
    return error === undefined ? {} : Promise.reject(error);
  };
  const events = new EventRecorder(new FakeClock());
  const results = await resizePod(
    {
      runtime: {
        updateContainerResources: ({ containerId = '', linux } = {}) => step(`update ${containerId} ${textOf(linux)}`),
        updatePodSandboxResources: ({ podSandboxId = '', resources } = {}) =>
          step(`sandbox ${podSandboxId} ${textOf(resources)}`),
        listContainerStats: () => Promise.resolve({ stats }),
      },
      exclusiveCPUs: () => new Set(),
      podCgroups: {
        prepare: async () => {
          await step('prepare');
        },
        clearMemoryQoS: () => Promise.resolve([]),
        limitsOf: (of) => podCgroupLimits(of, { enforceCPULimits: true }),
        set: async (_pod, { cpuShares, cpuQuotaMicros, memoryBytes }) => {
          const part = memoryBytes ?? cpuShares ?? `quota ${cpuQuotaMicros}`;
          await step(`cgroup ${String(part)}`);
        },
        resize: async () => {
          await step('settle');
        },
      },
      node: { containerNode: { resources: makeNodeResources() } },
      clock: new FakeClock(),
      logger: silentLogger,
    },
    {
      pod,
      sandboxID: 's',
      containersToRestart: [],
      recorder: podEventRecorder(events.emit, pod),
      signal: new AbortController().signal,
      onResized: (id) => done.push(`resized ${id}`),
      onFinished: () => done.push('finished'),
      onRefused: (id) => done.push(`refused ${id}`),
      ...more,
    },
  );
  const failures = results.flatMap(({ target, error, message }) =>
    error === undefined ? [] : `${target}: ${String(message)}`,
  );
  return { done, failures };
}

const memory = (limit: string) => ({ resources: { limits: { memory: limit } } });
const toResize = ['a', 'b'].map((name) => ({ containerID: `${name}-id`, name, changes: ['memory limit'] }));

/** One container grows, the other one shrinks, and the pod as a whole shrinks. */
const resize = (refused?: Record<string, Error>) =>
  resizeOf(
    makePod({
      spec: {
        containers: [makeContainer({ name: 'a', ...memory('2Mi') }), makeContainer({ name: 'b', ...memory('1Mi') })],
      },
    }),
    {
      outdated: { 'a-id': { limits: { memory: '1Mi' } }, 'b-id': { limits: { memory: '3Mi' } } },
      containersToResize: toResize,
    },
    refused,
  );

const [updateA, updateB] = ['update a-id 2 0 2097152', 'update b-id 2 0 1048576'];
const lower = 'cgroup 3145728';

test('a pod that shrinks is lowered after its containers', async () => {
  expect(await resize()).toEqual({
    done: [
      'prepare',
      updateA,
      updateB,
      ...[lower, 'sandbox s 2 -1 3145728'],
      ...['resized a-id', 'resized b-id', 'settle', 'finished'],
    ],
    failures: [],
  });
});

test('a container that is refused holds up the pod, and no other container', async () => {
  expect(await resize({ [updateA]: new RpcError('Update', 2, 'busy') })).toEqual({
    done: ['prepare', updateA, updateB, 'resized b-id'],
    failures: ['a: busy'],
  });
});

test('a pod that uses too much memory keeps its resources', async () => {
  expect(await resize({ prepare: new Error('busy') })).toEqual({ done: ['prepare'], failures: ['web-node1: busy'] });
});

test('a container that uses more memory than its new limit keeps its resources, also in a pod without a limit', async () => {
  const containers = [makeContainer({ name: 'a', ...memory('1Mi') }), makeContainer({ name: 'b' })];
  const change = (used: bigint) =>
    resizeOf(
      makePod({ spec: { containers } }),
      { outdated: { 'a-id': { limits: { memory: '2Mi' } } }, containersToResize: toResize.slice(0, 1) },
      {},
      { 'a-id': used, 'b-id': 2n ** 30n },
    );
  expect(await change(2n ** 20n)).toEqual({
    done: ['prepare'],
    failures: ['web-node1: container a uses 1048576 bytes of memory, but its new limit is 1048576'],
  });
  expect((await change(2n ** 20n - 1n)).done.at(-1)).toBe('finished');
});

test('a pod that cannot be lowered yet is not finished', async () => {
  expect(await resize({ [lower]: new Error('busy') })).toEqual({
    done: ['prepare', updateA, updateB, lower],
    failures: ['web-node1: busy'],
  });
});

test('a runtime without updates is distinguished from one that fails', async () => {
  const missing = new RpcError('Update', codes.unimplemented, 'unknown method');
  expect((await resize({ [updateB]: missing })).done).toContain('refused b-id');
});

test('a runtime that need not know the limits of pods does not hold up the resize', async () => {
  const { done, failures } = await resize({
    'sandbox s 2 -1 3145728': new RpcError('Update', codes.unimplemented, ''),
  });
  expect([done.at(-1), failures]).toEqual(['finished', []]);
});

test('a pod that grows is raised before its container: first memory, then CPU', async () => {
  const sized = (cpu: string, bytes: string, limit: string) => ({
    requests: { cpu, memory: bytes },
    limits: { cpu: limit, memory: bytes },
  });
  const containers = [makeContainer({ name: 'a', resources: sized('40m', '4Mi', '100m') })];
  const outdated = { 'a-id': sized('20m', '2Mi', '50m') };
  const { done } = await resizeOf(makePod({ spec: { containers } }), {
    outdated,
    containersToResize: toResize.slice(0, 1),
  });
  expect(done).toEqual([
    'prepare',
    ...['cgroup 4194304', 'sandbox s 20 5000 4194304', 'update a-id 20 5000 4194304'],
    ...['cgroup quota 10000', 'sandbox s 20 10000 4194304', 'cgroup 40', 'sandbox s 40 10000 4194304'],
    ...['update a-id 40 10000 4194304', 'resized a-id', 'settle', 'finished'],
  ]);
});

test('a container without a limit follows the limit of the pod', async () => {
  const containers = [makeContainer({ name: 'a' })];
  const pod = makePod({ spec: { resources: { requests: { cpu: '20m' }, limits: { cpu: '100m' } }, containers } });
  const { done } = await resizeOf(pod, {
    outdated: { 'a-id': {} },
    outdatedPod: { requests: { cpu: '20m' }, limits: { cpu: '50m' } },
    containersToResize: toResize.slice(0, 1),
  });
  expect(done).toEqual([
    ...['prepare', 'cgroup quota 10000', 'sandbox s 20 10000 unlimited', 'update a-id 2 10000 0'],
    ...['resized a-id', 'settle', 'finished'],
  ]);
});

test('a pod is raised for a container that restarts too', async () => {
  const pod = makePod({ spec: { containers: [makeContainer({ name: 'a', ...memory('2Mi') })] } });
  const { done } = await resizeOf(pod, {
    outdated: { 'a-id': { limits: { memory: '1Mi' } } },
    containersToResize: [],
    containersToRestart: [{ containerID: 'a-id', name: 'a' }],
  });
  expect(done).toEqual(['prepare', 'cgroup 2097152', 'sandbox s 2 -1 2097152', 'settle', 'finished']);
});

test('after a refusal the pod has the larger quota, which an interrupted resize may have lowered', async () => {
  const limited = (cpu: string) => ({ limits: { cpu } });
  const pod = makePod({ spec: { containers: [makeContainer({ name: 'a', resources: limited('50m') })] } });
  const update = 'update a-id 2 5000 0';
  const { done } = await resizeOf(
    pod,
    { outdated: { 'a-id': limited('100m') }, containersToResize: toResize.slice(0, 1) },
    { [update]: new RpcError('Update', 2, 'invalid argument') },
  );
  expect(done).toEqual(['prepare', update, 'cgroup quota 10000']);
});
