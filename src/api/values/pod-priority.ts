import type { Pod } from '../types.ts';

/** The lowest priority of critical pods. kubelet: pkg/apis/scheduling SystemCriticalPriority */
export const systemCriticalPriority = 2_000_000_000;

/** Values of the built-in classes. kubelet: pkg/apis/scheduling SystemPriorityClasses */
export const systemPriorityClasses: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', systemCriticalPriority],
  ['system-node-critical', systemCriticalPriority + 1000],
]);

/** The priority of a pod. A class that is not built in must be resolved first. */
export function podPriority({ spec: { priority, priorityClassName = '' } }: Pick<Pod, 'spec'>): number {
  return priority ?? systemPriorityClasses.get(priorityClassName) ?? 0;
}
