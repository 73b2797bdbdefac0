import { expect, test } from 'vitest';
import { parseEvictionThresholds } from '../../../src/api/values/eviction-thresholds.ts';
import { evictionMessage, resourceOf } from '../../../src/engine/eviction/eviction-message.ts';
import type { PodUsage } from '../../../src/engine/eviction/node-summary.ts';
import { evictionSignals } from '../../../src/api/values/eviction-thresholds.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const time = '2025-01-01T00:00:00Z';
const mebibyte = 1024 * 1024;

function threshold(signal: string, value: string) {
  const [parsed] =
    parseEvictionThresholds({
      evictionHard: { [signal]: value },
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
      enforceNodeAllocatable: [],
    }) ?? [];
  if (parsed === undefined) throw new Error(`${signal}<${value} is no threshold`);
  return parsed;
}

const observed = (available: bigint, capacity: bigint) => ({
  available: { nanos: available * 1_000_000_000n, format: 'BinarySI' as const },
  capacity: { nanos: capacity * 1_000_000_000n, format: 'BinarySI' as const },
  atMonotonic: 0,
});

const pod = makePod({
  spec: {
    containers: [
      makeContainer({ name: 'small', resources: { requests: { memory: '100Mi' } } }),
      makeContainer({ name: 'large', resources: { requests: { memory: '100Mi' } } }),
    ],
    initContainers: [makeContainer({ name: 'sidecar' })],
  },
});

function usage(memory: Record<string, number>): PodUsage {
  return {
    podRef: { uid: 'u1' },
    containers: Object.entries(memory).map(([name, mebibytes]) => ({
      name,
      memory: { time, workingSetBytes: mebibytes * mebibyte },
    })),
  };
}

test('names the pod beyond its own request, and containers beyond theirs', () => {
  const containers = [
    makeContainer({ name: 'free' }),
    makeContainer({ name: 'large', resources: { requests: { memory: '10Mi' } } }),
  ];
  const whole = makePod({
    metadata: { name: 'web-edge1' },
    spec: { resources: { requests: { memory: '100Mi' } }, containers },
  });
  const used = { ...usage({ free: 90, large: 60 }), memory: { time, workingSetBytes: 150 * mebibyte } };
  expect(evictionMessage(whole, threshold('memory.available', '10%'), undefined, used)).toBe(
    'The node was low on resource: memory. ' +
      'Pod web-edge1 was using 150Mi, request is 100Mi, has larger consumption of memory. ' +
      'Container large was using 60Mi, request is 10Mi, has larger consumption of memory. ',
  );
});

test('names the resource, the threshold and every container beyond its request', () => {
  const message = evictionMessage(
    pod,
    threshold('memory.available', '10%'),
    observed(50n * 1024n * 1024n, 1000n * 1024n * 1024n),
    usage({ small: 99, large: 150, sidecar: 1, gone: 500 }),
  );
  expect(message).toBe(
    'The node was low on resource: memory. Threshold quantity: 104857601, available: 50Mi. ' +
      'Container large was using 150Mi, request is 100Mi, has larger consumption of memory. ' +
      'Container sidecar was using 1Mi, request is 0, has larger consumption of memory. ',
  );
});

test('says less if less is known', () => {
  expect(evictionMessage(pod, threshold('pid.available', '100'), undefined, undefined)).toBe(
    'The node was low on resource: pids. ',
  );
});

test('each signal is about a resource', () => {
  expect(Object.fromEntries(evictionSignals.map((signal) => [signal, resourceOf(signal)]))).toEqual({
    'memory.available': 'memory',
    'allocatableMemory.available': 'memory',
    'nodefs.available': 'ephemeral-storage',
    'nodefs.inodesFree': 'inodes',
    'imagefs.available': 'ephemeral-storage',
    'imagefs.inodesFree': 'inodes',
    'containerfs.available': 'ephemeral-storage',
    'containerfs.inodesFree': 'inodes',
    'pid.available': 'pids',
  });
});
