import { isPodReady } from '../../api/values/pod-conditions.ts';
import type { EngineSnapshot, PodSnapshot } from './snapshot.ts';

/** The facts about a pod that decide. `worker` is absent without an agent. */
type JudgedPod = Pick<PodSnapshot, 'pod'> &
  Partial<Pick<PodSnapshot, 'worker' | 'waitingUpdate' | 'rejection' | 'isUndeclared'>>;

/**
 * True if nothing about the pod needs an explanation: it runs its newest manifest and is Ready, or it has completed. A
 * pod that runs from its last good manifest is not well, because a restart does not apply its newest one. Neither is a
 * rejected pod, because its status may be left from its last run.
 */
export function isWell(entry: JudgedPod, node: EngineSnapshot): boolean {
  const { pod, worker, waitingUpdate, rejection, isUndeclared } = entry;
  if (isUndeclared === true) return false;
  if (node.runtime.error !== undefined || waitingUpdate !== undefined || rejection !== undefined) return false;
  const { status } = pod;
  const isReady = status?.phase === 'Running' && worker?.state === 'sync' && isPodReady(status);
  return (isReady || status?.phase === 'Succeeded') && !hasManifestError(entry, node);
}

function hasManifestError({ pod }: JudgedPod, { sources }: EngineSnapshot): boolean {
  const { namespace, name } = pod.metadata;
  return sources.some(({ problems }) =>
    problems.some(
      ({ severity, lastGoodPods = [], repeatedPod }) =>
        severity === 'error' &&
        [...lastGoodPods, repeatedPod].some((one) => one?.namespace === namespace && one.name === name),
    ),
  );
}
