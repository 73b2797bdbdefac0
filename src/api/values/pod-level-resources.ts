import type * as core from 'kubernetes-types/core/v1.js';
import type { FeatureGates } from './feature-gates.ts';
import type { Pod, ResourceList } from '../types.ts';

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

/**
 * The pod for the engine: without the fields that a feature gate disables. The manifest keeps them, as in the kubelet,
 * and the engine need not check the gates.
 */
export function withoutDisabledFields<P extends Pick<Pod, 'spec'>>(pod: P, gates: FeatureGates): P {
  if (gates.PodLevelResources || pod.spec.resources === undefined) return pod;
  const spec = { ...pod.spec };
  delete spec.resources;
  return { ...pod, spec };
}
