import type { Pod } from '../../api/types.ts';

/**
 * Seconds a pod gets to terminate: the pod's own, made shorter by a deletion or by whoever kills it, never longer than
 * what it was given before, at least 1. `shortened`: a kill under way must hear of it.
 * kubelet: pod_workers.go calculateEffectiveGracePeriod
 */
export function effectiveGracePeriod(
  current: number,
  pod: Pod | undefined,
  override: number | undefined,
): { gracePeriodSeconds: number; shortened: boolean } {
  let seconds = current;
  let overridden = false;
  for (const shorter of [pod?.metadata.deletionGracePeriodSeconds, override]) {
    if (shorter === undefined || (seconds !== 0 && shorter >= seconds)) continue;
    seconds = shorter;
    overridden = true;
  }
  if (!overridden && seconds === 0) seconds = pod?.spec.terminationGracePeriodSeconds ?? 0;
  seconds = Math.max(seconds, 1);
  return { gracePeriodSeconds: seconds, shortened: current !== 0 && current !== seconds };
}
