import type { SourceName } from '../../api/values/config-annotations.ts';
import type { UndeclaredState } from './undeclared-records.ts';

/** A pod of an earlier agent. */
export interface EarlierPod {
  uid: string;
  /** Kind of the source that declared it. Undefined if that is unknown. */
  source: SourceName | undefined;
  isRunning: boolean;
  /** True if a source declares a pod of this UID or name now. */
  isDeclared: boolean;
  state: UndeclaredState | undefined;
}

/**
 * Returns the UIDs of undeclared pods that keep running because nobody confirmed that they should stop. If the
 * manifests at startup would stop every running pod, the agent has probably read the wrong folder, an empty mount or
 * nothing, so it keeps the pods. If the manifests declare some of them, the others are stopped. Applied pods do not
 * count, because they were deleted by name.
 */
export function computeKeptPods(earlier: readonly EarlierPod[]): string[] {
  const pods = earlier.filter(({ source, state }) => source !== 'applied' && state !== 'removed');
  const running = pods.filter(({ isRunning }) => isRunning);
  const wouldStopAll = running.length > 0 && running.every(({ isDeclared }) => !isDeclared);
  return pods
    .filter(({ isDeclared, state }) => !isDeclared && (wouldStopAll || state === 'kept'))
    .map(({ uid }) => uid);
}
