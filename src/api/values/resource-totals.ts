import type * as core from 'kubernetes-types/core/v1.js';
import { podLevelAmounts } from './pod-level-resources.ts';
import { addQuantities, formatQuantity, maxQuantity, type Quantity, toQuantity, zeroQuantity } from './quantity.ts';
import { isSidecar } from './sidecars.ts';
import type { Pod, ResourceList } from '../types.ts';

/** Amounts by resource name. */
export type ResourceTotals = ReadonlyMap<string, Quantity>;

/** A resource list as quantities. A resource that is not declared is absent, which differs from zero. */
export function toTotals(list: ResourceList = {}): ResourceTotals {
  return new Map(Object.entries(list).map(([name, text]) => [name, toQuantity(text)]));
}

/**
 * Caches of totals by spec, which does not change: each new pod is compared with all others, and each statistics sample
 * reads the limits.
 */
const knownRequests = new WeakMap<core.PodSpec, ResourceTotals>();
const knownLimits = new WeakMap<core.PodSpec, ResourceTotals>();

/**
 * The total requests of a loaded pod: its pod-level requests, else those of its containers. kubelet:
 * component-helpers/resource/helpers.go PodRequests
 */
export function podRequests({ spec }: Pick<Pod, 'spec'>): ResourceTotals {
  const known = knownRequests.get(spec);
  if (known !== undefined) return known;
  const requests = sumResources(podTotals(spec, 'requests'), toTotals(spec.overhead));
  knownRequests.set(spec, requests);
  return requests;
}

/** The total limits of a pod. Overhead counts only for resources with a limit. kubelet: helpers.go PodLimits */
export function podLimits(pod: Pick<Pod, 'spec'>): ResourceTotals {
  const known = knownLimits.get(pod.spec);
  if (known !== undefined) return known;
  const ofContainers = podTotals(pod.spec, 'limits');
  const isLimited = (name: string): boolean => (ofContainers.get(name) ?? zeroQuantity).nanos !== 0n;
  const overhead = [...toTotals(pod.spec.overhead)].filter(([name]) => isLimited(name));
  const limits = sumResources(ofContainers, new Map(overhead));
  knownLimits.set(pod.spec, limits);
  return limits;
}

/**
 * The pod-level limits: as written, else the huge pages of its containers, unless the pod requests them itself.
 * kubelet: defaults.go defaultHugePagePodLimits
 */
export function podLevelLimits(spec: core.PodSpec): ResourceList {
  const ofContainers = Object.entries(toResourceList(containerTotals(spec, 'limits')));
  const requests: ResourceList = spec.resources?.requests ?? {};
  const hugePages = ofContainers.filter(([name]) => name.startsWith('hugepages-') && requests[name] === undefined);
  return { ...Object.fromEntries(hugePages), ...spec.resources?.limits };
}

/**
 * The pod-level requests: as written, else those of its containers, else its limit. kubelet:
 * pkg/apis/core/v1/defaults.go defaultPodRequests
 */
export function podLevelRequests(spec: core.PodSpec): ResourceList {
  const ofContainers = Object.entries(toResourceList(containerTotals(spec, 'requests')));
  const shared = ofContainers.filter(([name]) => name === 'cpu' || name === 'memory');
  return { ...spec.resources?.limits, ...Object.fromEntries(shared), ...spec.resources?.requests };
}

/** Totals as canonical texts, as in `resources` of a container. */
export function toResourceList(totals: ResourceTotals): ResourceList {
  return Object.fromEntries([...totals].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

function podTotals(spec: core.PodSpec, part: 'requests' | 'limits'): ResourceTotals {
  return new Map([...containerTotals(spec, part), ...toTotals(podLevelAmounts(spec, part))]);
}

/**
 * The total of the containers. Regular ones and sidecars run together; each init container runs with the sidecars
 * started before it.
 */
export function containerTotals(spec: core.PodSpec, part: 'requests' | 'limits'): ResourceTotals {
  const amountsOf = (container: core.Container): ResourceTotals => toTotals(container.resources?.[part]);
  let running = spec.containers.map(amountsOf).reduce(sumResources, new Map());
  let sidecars: ResourceTotals = new Map();
  let initPeak: ResourceTotals = new Map();
  for (const container of spec.initContainers ?? []) {
    const withSidecars = sumResources(sidecars, amountsOf(container));
    if (isSidecar(container)) {
      running = sumResources(running, amountsOf(container));
      sidecars = withSidecars;
    }
    initPeak = maxResources(initPeak, withSidecars);
  }
  return maxResources(running, initPeak);
}

function sumResources(a: ResourceTotals, b: ResourceTotals): ResourceTotals {
  return merge(a, b, addQuantities);
}

function maxResources(a: ResourceTotals, b: ResourceTotals): ResourceTotals {
  return merge(a, b, maxQuantity);
}

function merge(a: ResourceTotals, b: ResourceTotals, both: (a: Quantity, b: Quantity) => Quantity): ResourceTotals {
  const merged = new Map(a);
  for (const [name, quantity] of b) {
    const other = merged.get(name);
    merged.set(name, other ? both(other, quantity) : quantity);
  }
  return merged;
}
