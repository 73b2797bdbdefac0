import type { Pod } from '../../api/types.ts';

/** Why a pod may not run on this node now. kubelet: lifecycle/predicate.go */
export interface Rejection {
  reason: string;
  message: string;
}

/** Undefined when the pod fits beside the others that are at work. */
export function rejectionOf(pod: Pod, others: readonly Pod[], { maxPods }: { maxPods: number }): Rejection | undefined {
  const used = others.filter(({ metadata }) => metadata.uid !== pod.metadata.uid).length;
  if (used < maxPods) return undefined;
  return {
    reason: 'OutOfpods',
    message: `Node didn't have enough resource: pods, requested: 1, used: ${used}, capacity: ${maxPods}`,
  };
}
