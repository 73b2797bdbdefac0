import { describe, expect, test } from 'vitest';
import { applyDefaults } from '../../../src/api/objects/apply-defaults.ts';
import { defaultFeatureGates } from '../../../src/api/values/feature-gates.ts';
import { podQOSClass } from '../../../src/api/values/qos.ts';
import { podLimits, podRequests, toResourceList } from '../../../src/api/values/resource-totals.ts';
import type { PodSpec } from '../../../src/api/types.ts';
import { podCgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { containerResources } from '../../../src/engine/kuberuntime/request/linux-resources.ts';
import { makeNodeResources } from '../../engine/kuberuntime/node-resources.ts';

type Resources = NonNullable<PodSpec['resources']>;

const off = { ...defaultFeatureGates, PodLevelResources: false };

/** A pod with these resources as a whole, of one container for each of the others. */
function podOf(resources: Resources | undefined, ...ofContainers: (Resources | undefined)[]) {
  const containers = ofContainers.map((own, index) => ({
    name: `c${index}`,
    image: 'a',
    ...(own && { resources: own }),
  }));
  return {
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { containers, ...(resources && { resources }) },
  };
}

describe('the requests of a pod as a whole', () => {
  test.each<[string, Resources, Resources[], Resources['requests']]>([
    ['stay as they are written', { requests: { cpu: '1' }, limits: { cpu: '2' } }, [], { cpu: '1' }],
    [
      'are those of its containers',
      { limits: { cpu: '2', memory: '1Gi' } },
      [{ requests: { cpu: '100m' } }, { requests: { cpu: '200m', memory: '10Mi' } }],
      { cpu: '300m', memory: '10Mi' },
    ],
    ['are its limits when no container asks', { limits: { cpu: '2' } }, [{}], { cpu: '2' }],
    [
      'are those of its containers although it does not limit the resource',
      { limits: { cpu: '2' } },
      [{ requests: { memory: '10Mi' } }],
      { cpu: '2', memory: '10Mi' },
    ],
  ])('%s', (_title, resources, containers, requests) => {
    const { spec } = applyDefaults(podOf(resources, ...containers));
    expect(spec.resources).toEqual({ ...resources, requests });
  });

  test('are nobody’s business without limits of it, or without the gate', () => {
    const requested = podOf({ requests: { cpu: '1' } }, { requests: { memory: '1Gi' } });
    expect(applyDefaults(requested).spec.resources).toEqual({ requests: { cpu: '1' } });
    const limited = podOf({ limits: { cpu: '1' } }, {});
    expect(applyDefaults(limited, off).spec.resources).toEqual({ limits: { cpu: '1' } });
  });
});

test.each([
  ['are those of its containers', {}, { cpu: '1', 'hugepages-2Mi': '4Mi' }],
  ['are not those of its containers if it requests them itself', { 'hugepages-2Mi': '4Mi' }, { cpu: '1' }],
])('the limits of huge pages of a pod as a whole %s', (_, requests, limits) => {
  const own = { cpu: '1', 'hugepages-2Mi': '4Mi' };
  const { spec } = applyDefaults(podOf({ requests, limits: { cpu: '1' } }, { requests: own, limits: own }));
  expect(spec.resources?.limits).toEqual(limits);
});

test('what a pod asks for as a whole stands for what its containers ask for', () => {
  const amounts = { cpu: '1', memory: '1Gi', 'hugepages-2Mi': '2Mi' };
  const pod = podOf(
    { requests: amounts, limits: amounts },
    { requests: { cpu: '3', 'ephemeral-storage': '1Gi' }, limits: { cpu: '3' } },
  );
  expect(toResourceList(podRequests(pod))).toEqual({ ...amounts, 'ephemeral-storage': '1Gi' });
  expect(toResourceList(podLimits(pod))).toEqual(amounts);
});

describe('the QoS class', () => {
  const both = { cpu: '1', memory: '1Gi' };
  test.each<[string, Resources | undefined, Resources]>([
    ['Guaranteed', { requests: both, limits: both }, {}],
    ['Burstable', { requests: { cpu: '1' } }, { requests: both, limits: both }],
    ['Burstable', { requests: both, limits: { ...both, cpu: '2' } }, {}],
    ['Guaranteed', undefined, { requests: both, limits: both }],
    ['BestEffort', { requests: { 'hugepages-2Mi': '2Mi' } }, {}],
  ])('is %s for %j as a whole and %j of the container', (qosClass, resources, container) => {
    expect(podQOSClass(podOf(resources, container))).toBe(qosClass);
  });
});

test('a pod that is limited as a whole is held to it, and so is a container that is not limited itself', () => {
  const pod = podOf(
    { requests: { cpu: '60m' }, limits: { cpu: '300m', memory: '300Mi' } },
    {},
    { requests: { cpu: '10m', memory: '10Mi' }, limits: { cpu: '50m', memory: '50Mi' } },
  );
  expect(podCgroupLimits(pod, { enforceCPULimits: true })).toEqual({
    cpuShares: 61,
    cpuQuotaMicros: 30_000,
    cpuPeriodMicros: 100_000,
    memoryBytes: 314_572_800n,
    hugePageLimits: new Map(),
  });
  const limits = pod.spec.containers.map((container) => {
    const { cpuShares, cpuQuota, memoryLimitInBytes } = containerResources(pod, container, makeNodeResources());
    return { cpuShares, cpuQuota, memoryLimitInBytes };
  });
  expect(limits).toEqual([
    { cpuShares: 307, cpuQuota: 30_000, memoryLimitInBytes: 314_572_800n },
    { cpuShares: 10, cpuQuota: 5000, memoryLimitInBytes: 52_428_800n },
  ]);
});
