import type { Pod } from '../types.ts';

/** The lowest priority of critical pods. kubelet: pkg/apis/scheduling SystemCriticalPriority */
export const systemCriticalPriority = 2_000_000_000;

/** kubelet: pkg/apis/scheduling SystemPriorityClasses */
const systemPriorityClasses: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', systemCriticalPriority],
  ['system-node-critical', systemCriticalPriority + 1000],
]);

/** Without an API server only two priority classes have a known number. */
export function podPriority({ spec: { priority, priorityClassName = '' } }: Pick<Pod, 'spec'>): number {
  return priority ?? systemPriorityClasses.get(priorityClassName) ?? 0;
}
