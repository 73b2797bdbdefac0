import { describe, expect, it } from 'vitest';
import type { Container, PodSpec } from '../../../../src/api/types.ts';
import {
  containerResources,
  type NodeResources,
  sandboxResources,
} from '../../../../src/engine/kuberuntime/request/linux-resources.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';
import { makeNodeResources } from '../node-resources.ts';

const mebibyte = 1024n ** 2n;
const limited = makeContainer({
  resources: { requests: { cpu: '100m', memory: '16Mi' }, limits: { cpu: '500m', memory: '64Mi' } },
});

function resourcesOf(container: Container, node: Partial<NodeResources>) {
  return containerResources(makePod({ spec: { containers: [container] } }), container, makeNodeResources(node));
}

describe('containerResources', () => {
  it('forbids swap by the memory limit on cgroup v1, where processes are killed one by one', () => {
    expect(resourcesOf(limited, { cgroupVersion: 1, singleProcessOOMKill: true })).toEqual({
      cpuShares: 102,
      cpuQuota: 50_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 64n * mebibyte,
      memorySwapLimitInBytes: 64n * mebibyte,
      oomScoreAdj: 999,
      hugepageLimits: [],
      unified: {},
    });
  });

  it('forbids swap by its own file on cgroup v2, where a container is killed as a whole', () => {
    expect(resourcesOf(limited, { cgroupVersion: 2 })).toEqual({
      cpuShares: 102,
      cpuQuota: 50_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 64n * mebibyte,
      oomScoreAdj: 999,
      hugepageLimits: [],
      unified: { 'memory.oom.group': '1', 'memory.swap.max': '0' },
    });
  });

  it('says nothing about swap where the kernel cannot limit it', () => {
    const resources = resourcesOf(limited, { hasSwapController: false });
    expect(resources.unified).toEqual({ 'memory.oom.group': '1' });
  });

  describe('with LimitedSwap', () => {
    const swapOf = (container: Container, spec: Partial<PodSpec> = {}, node: Partial<NodeResources> = {}) => {
      const resources = makeNodeResources({ swapForPodsBytes: 4n * 1024n ** 3n, ...node });
      const pod = makePod({ spec: { containers: [container], ...spec } });
      return containerResources(pod, container, resources).unified?.['memory.swap.max'];
    };

    it("gives a Burstable container the part of the swap that its request is of the node's memory", () => {
      // 16 MiB of 8 GiB, of 4 GiB of swap.
      expect(swapOf(limited)).toBe(String(8n * mebibyte));
      expect(swapOf(makeContainer({ resources: { requests: { memory: '1000' } } }))).toBe('500');
    });

    it.each([
      ['without a request', makeContainer({ resources: { requests: { cpu: '1' } } }), {}],
      [
        'with a request as large as its limit',
        makeContainer({ resources: { requests: { memory: '1Gi', cpu: '1' }, limits: { memory: '1Gi' } } }),
        {},
      ],
      ['of a BestEffort pod', makeContainer(), {}],
      ['of system priority', limited, { priority: 2_000_000_000 }],
    ])('gives none to a container %s', (_what, container, spec) => {
      expect(swapOf(container, spec)).toBe('0');
    });

    it('gives none on cgroup v1', () => {
      expect(swapOf(limited, {}, { cgroupVersion: 1 })).toBeUndefined();
    });
  });

  it('sends neither quota nor period when CPU limits are not enforced', () => {
    expect(resourcesOf(limited, { cpuCFSQuota: false })).not.toHaveProperty('cpuQuota');
    expect(resourcesOf(limited, { cpuCFSQuota: false })).not.toHaveProperty('cpuPeriod');
  });

  it('takes the CPU shares from the limit only if no request is written', () => {
    const onlyLimit = makeContainer({ resources: { limits: { cpu: '2' } } });
    const zeroRequest = makeContainer({ resources: { requests: { cpu: '0' }, limits: { cpu: '2' } } });
    expect(resourcesOf(onlyLimit, {}).cpuShares).toBe(2048);
    expect(resourcesOf(zeroRequest, {}).cpuShares).toBe(2);
  });

  it('limits every huge page size of the machine, to nothing unless the container asks for it', () => {
    const container = makeContainer({ resources: { limits: { 'hugepages-2Mi': '4Mi', 'hugepages-64Ki': '64Ki' } } });
    expect(resourcesOf(container, { hugePageSizes: [2n * mebibyte, 1024n * mebibyte] }).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: 4n * mebibyte },
      { pageSize: '1GB', limit: 0n },
    ]);
  });

  describe('with MemoryQoS', () => {
    const fixed = makeContainer({
      resources: { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '50m', memory: '32Mi' } },
    });
    const unlimited = makeContainer({ resources: { requests: { memory: '24Mi' } } });
    const free = makeContainer();
    const unifiedOf = (reservesMemory: boolean) =>
      [limited, fixed, unlimited, free].map((container) => {
        const memoryQoS = { throttlingFactor: 0.9, allocatableMemoryBytes: 1024n * mebibyte, reservesMemory };
        return resourcesOf(container, { memoryQoS, hasSwapController: false }).unified;
      });

    it('slows a container down before its limit, or before the memory of the node', () => {
      const none = { 'memory.oom.group': '1', 'memory.min': '0', 'memory.low': '0' };
      expect(unifiedOf(false)).toEqual([
        { ...none, 'memory.high': '62074880' },
        none,
        { ...none, 'memory.high': '968884224' },
        none,
      ]);
    });

    it('keeps requested memory free with TieredReservation', () => {
      expect(unifiedOf(true)).toEqual([
        { 'memory.oom.group': '1', 'memory.low': '16777216', 'memory.high': '62074880' },
        { 'memory.oom.group': '1', 'memory.min': '33554432' },
        { 'memory.oom.group': '1', 'memory.low': '25165824', 'memory.high': '968884224' },
        { 'memory.oom.group': '1' },
      ]);
    });
  });
});

describe('sandboxResources', () => {
  it('sums what the containers declare, without overhead and however many declare nothing', () => {
    const pod = makePod({
      spec: { containers: [limited, makeContainer({ name: 'free' })], overhead: { cpu: '1', memory: '1Gi' } },
    });
    expect(sandboxResources(pod, makeNodeResources({ cgroupVersion: 1, singleProcessOOMKill: true }))).toEqual({
      cpuShares: 102,
      cpuQuota: 50_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 64n * mebibyte,
      unified: {},
    });
  });
});
