import type { Pod } from '../../api/types.ts';
import { podLimits } from '../../api/values/resource-totals.ts';

/** True if the pod is evicted when it uses too much of the disk. */
export function hasDiskLimit(pod: Pod): boolean {
  return (
    podLimits(pod).has('ephemeral-storage') ||
    pod.spec.containers.some(({ resources }) => resources?.limits?.['ephemeral-storage'] !== undefined) ||
    (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined)
  );
}
