import { humanDuration } from '../api/values/duration.ts';
import { explainPod } from '../engine/explain/explain-pod.ts';
import { isWell } from '../engine/view/is-well.ts';
import type { EngineSnapshot, PodSnapshot } from '../engine/view/snapshot.ts';

/** Why a pod is not well, on one line, as `explain` reports it. Empty for a pod that is well. */
export function podReason(entry: PodSnapshot, node: EngineSnapshot, now: number): string {
  if (isWell(entry, node)) return '';
  const { stage, cause, nextTryAt } = explainPod({ ...entry, node });
  if (stage === 'running') return '';
  const next = nextTryAt === undefined || nextTryAt <= now ? '' : `; next try in ${humanDuration(nextTryAt - now)}`;
  return `${cause}${next}`;
}
