import { humanDuration } from '../api/values/pod-printer.ts';
import { explainPod } from '../engine/explain/explain-pod.ts';
import type { EngineSnapshot, PodSnapshot } from '../engine/view/snapshot.ts';
import { isPodReady } from './pod-row.ts';

/** True for a pod that runs and is Ready, or has completed. */
export function isWell({ pod, worker, waitingUpdate, rejection }: PodSnapshot): boolean {
  if (pod.status?.phase === 'Succeeded') return true;
  return isPodReady(pod) && worker.state === 'sync' && waitingUpdate === undefined && rejection === undefined;
}

/** Why a pod is not well, in one line as by `explain`. Empty for a pod that is. */
export function podReason(entry: PodSnapshot, node: EngineSnapshot, now: number): string {
  if (isWell(entry)) return '';
  const { stage, cause, nextTryAt } = explainPod({ ...entry, node });
  if (stage === 'running') return '';
  const next = nextTryAt === undefined || nextTryAt <= now ? '' : `; next try in ${humanDuration(nextTryAt - now)}`;
  return `${cause}${next}`;
}
