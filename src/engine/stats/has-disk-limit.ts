import type { Pod } from '../../api/types.ts';
import { podLimits } from '../../api/values/resource-totals.ts';

/** True if the pod has a disk limit, and is evicted when it exceeds that. */
export function hasDiskLimit(pod: Pod): boolean {
  return (
    podLimits(pod).has('ephemeral-storage') ||
    pod.spec.containers.some(({ resources }) => resources?.limits?.['ephemeral-storage'] !== undefined) ||
    (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined)
  );
}
