import type * as core from 'kubernetes-types/core/v1.js';
import type { FeatureGates } from './feature-gates.ts';
import type { Pod, ResourceList } from '../types.ts';

/**
 * Resources that a pod can request as a whole. kubelet: component-helpers/resource/helpers.go
 * supportedPodLevelResources
 */
export const podLevelResourceNames = ['cpu', 'memory'] as const;

/** Requests or limits of the whole pod. kubelet: component-helpers/resource/helpers.go IsSupportedPodLevelResource */
export function podLevelAmounts({ resources }: core.PodSpec, part: 'requests' | 'limits'): ResourceList {
  const amounts: ResourceList = resources?.[part] ?? {};
  return Object.fromEntries(
    podLevelResourceNames.flatMap((name) => {
      const amount = amounts[name];
      return amount === undefined ? [] : [[name, amount]];
    }),
  );
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
