import { expect, it } from 'vitest';
import type { Container } from '../../../src/api/types.ts';
import { podCgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

it('limits the processes of a pod only if a positive limit is configured', () => {
  const hugePageLimits = new Map();
  expect(podCgroupLimits(makePod(), { enforceCPULimits: true, podPidsLimit: 100 })).toEqual({
    cpuShares: 2,
    pidsLimit: 100n,
    hugePageLimits,
  });
  expect(podCgroupLimits(makePod(), { enforceCPULimits: true, podPidsLimit: -1 })).toEqual({
    cpuShares: 2,
    hugePageLimits,
  });
});

it('keeps requested memory free only with TieredReservation, for a Guaranteed pod in every case', () => {
  const reservationOf = (limits: Record<string, string>, reservesMemory?: boolean): (bigint | undefined)[] => {
    const containers = [makeContainer({ resources: { requests: { cpu: '1', memory: '1Mi' }, limits } })];
    const pod = makePod({ spec: { containers } });
    const found = podCgroupLimits(pod, { enforceCPULimits: true, reservesMemory });
    return [found.memoryMinBytes, found.memoryLowBytes];
  };
  expect(reservationOf({ cpu: '1', memory: '1Mi' }, true)).toEqual([2n ** 20n, undefined]);
  expect(reservationOf({}, true)).toEqual([undefined, 2n ** 20n]);
  expect(reservationOf({ cpu: '1', memory: '1Mi' })).toEqual([undefined, undefined]);
});

it('limits a pod when each init container, or a sidecar before it, has a limit', () => {
  const resources = { limits: { memory: '1Mi' } };
  const init = makeContainer({ name: 'init' });
  const sidecar = makeContainer({ name: 'side', restartPolicy: 'Always', resources });
  const limitOf = (...initContainers: Container[]): bigint | undefined => {
    const pod = makePod({ spec: { initContainers, containers: [makeContainer({ resources })] } });
    return podCgroupLimits(pod, { enforceCPULimits: true }).memoryBytes;
  };
  const mebibyte = 2n ** 20n;
  expect(limitOf(sidecar, init)).toBe(2n * mebibyte);
  expect(limitOf(init, sidecar)).toBe(undefined);
  expect(limitOf(init)).toBe(undefined);
  expect(limitOf(makeContainer({ name: 'first', resources }), init)).toBe(undefined);
});
