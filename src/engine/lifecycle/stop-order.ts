import { dependsOn, findDependency } from '../../api/values/depends-on.ts';
import type { Pod } from '../../api/types.ts';

/** The reverse of the start order, in steps: each has the pods that none of those left depends on. */
export function computeStopOrder(pods: readonly Pod[]): Pod[][] {
  const steps: Pod[][] = [];
  for (let left = [...pods]; left.length > 0;) {
    const needed = new Set(left.flatMap((pod) => dependsOn(pod).map((key) => findDependency(key, left))));
    const free = left.filter((pod) => !needed.has(pod));
    // Pods that wait for each other have no order.
    const step = free.length > 0 ? free : left;
    steps.push(step);
    left = left.filter((pod) => !step.includes(pod));
  }
  return steps;
}
