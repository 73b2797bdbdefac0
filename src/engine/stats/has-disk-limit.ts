import type { Pod } from '../../api/types.ts';
import { podLimits } from '../../api/values/resource-totals.ts';

/** True if the pod has a disk limit that evicts it when exceeded. */
export function hasDiskLimit(pod: Pod): boolean {
  return (
    podLimits(pod).has('ephemeral-storage') ||
    pod.spec.containers.some(({ resources }) => resources?.limits?.['ephemeral-storage'] !== undefined) ||
    (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined)
  );
}
