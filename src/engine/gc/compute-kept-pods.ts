import type { SourceName } from '../../api/values/config-annotations.ts';
import type { UndeclaredState } from './undeclared-records.ts';

/** A pod of an earlier agent. */
export interface EarlierPod {
  uid: string;
  /** Kind of the source that declared it. Undefined if that is unknown. */
  source: SourceName | undefined;
  isRunning: boolean;
  /** True if it runs to completion, so that it would run again if a later start found it removed. */
  runsOnce: boolean;
  /** True if a source declares a pod of this UID or name now, or a workload that may have a pod of this name. */
  isDeclared: boolean;
  state: UndeclaredState | undefined;
}

/**
 * Returns the UIDs of undeclared pods that are kept because nobody confirmed that they should stop. If the manifests at
 * startup would stop every running pod, the agent has probably read the wrong folder, an empty mount or nothing, so it
 * keeps all pods. If none runs and the manifests declare nothing, it keeps those that must not run again. If the
 * manifests declare some pods, the others are stopped. Applied pods do not count, because they were deleted by name.
 */
export function computeKeptPods(earlier: readonly EarlierPod[], declaresAny: boolean): string[] {
  const pods = earlier.filter(({ source, state }) => source !== 'applied' && state !== 'removed');
  const running = pods.filter(({ isRunning }) => isRunning);
  const wouldStopAll = running.length > 0 && running.every(({ isDeclared }) => !isDeclared);
  const wouldRemoveAll = running.length === 0 && !declaresAny;
  return pods
    .filter(({ isDeclared }) => !isDeclared)
    .filter(({ state, runsOnce }) => state === 'kept' || wouldStopAll || (wouldRemoveAll && runsOnce))
    .map(({ uid }) => uid);
}
