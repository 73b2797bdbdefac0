import type { Pod } from '../../../api/types.ts';
import { hasSidecar, sidecarsOf } from '../../../api/values/sidecars.ts';

/**
 * For each running container, the running containers that have to be gone before it is told to stop. Sidecars wait for
 * all regular containers and for the sidecar after them; the wait is bounded by what is left of the grace period.
 * kubelet: kuberuntime_termination_order.go newTerminationOrdering
 */
export function terminationOrder(pod: Pod, running: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const order = new Map<string, readonly string[]>([...running].map((name) => [name, []]));
  if (!hasSidecar(pod.spec)) return order;

  const regular = pod.spec.containers.map(({ name }) => name).filter((name) => running.has(name));
  const sidecars = sidecarsOf(pod.spec).map(({ name }) => name);
  for (const [i, name] of sidecars.entries()) {
    if (!running.has(name)) continue;
    // A later sidecar that is gone already ends the chain: the one after it is not waited for.
    const next = sidecars.slice(i + 1, i + 2).filter((later) => running.has(later));
    order.set(name, [...regular, ...next]);
  }
  return order;
}
