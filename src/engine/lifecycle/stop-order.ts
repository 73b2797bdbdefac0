import { dependsOn, findDependency } from '../../api/values/depends-on.ts';
import type { Pod } from '../../api/types.ts';

/** Computes the reverse start order in steps: no remaining pod depends on a pod of the current step. */
export function computeStopOrder(pods: readonly Pod[]): Pod[][] {
  const steps: Pod[][] = [];
  for (let left = [...pods]; left.length > 0;) {
    const needed = new Set(left.flatMap((pod) => dependsOn(pod).map((key) => findDependency(key, left))));
    const free = left.filter((pod) => !needed.has(pod));
    // Pods that depend on each other have no order.
    const step = free.length > 0 ? free : left;
    steps.push(step);
    left = left.filter((pod) => !step.includes(pod));
  }
  return steps;
}
