import type * as core from 'kubernetes-types/core/v1.js';
import type { ResourceList } from '../types.ts';

/** True for a resource that a pod can request as a whole: cpu, memory and huge pages. kubelet: see podLevelAmounts */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** Requests or limits of the whole pod. kubelet: component-helpers/resource/helpers.go IsSupportedPodLevelResource */
export function podLevelAmounts({ resources }: core.PodSpec, part: 'requests' | 'limits'): ResourceList {
  const amounts: ResourceList = resources?.[part] ?? {};
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => isPodLevelResource(name)));
}

/** kubelet: component-helpers/resource/helpers.go IsPodLevelResourcesSet */
export function hasPodLevelResources(spec: core.PodSpec): boolean {
  return (['requests', 'limits'] as const).some((part) => Object.keys(podLevelAmounts(spec, part)).length > 0);
}
