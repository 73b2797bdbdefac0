import type { Pod } from '../../api/types.ts';

/**
 * Grace period of a pod in seconds. A deletion or a kill may shorten the pod's own. It never grows, and is at least 1.
 * `shortened`: a kill under way must use the new value. kubelet: pod_workers.go calculateEffectiveGracePeriod
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
