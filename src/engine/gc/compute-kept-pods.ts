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
 * UIDs of the undeclared pods that run on because nobody confirmed that they should stop. A start whose manifests would
 * stop every running pod has probably read the wrong folder, an empty mount or nothing, so it keeps them. One whose
 * manifests declare some of them stops the others. Applied pods do not count: they were deleted by name.
 */
export function computeKeptPods(earlier: readonly EarlierPod[]): string[] {
  const pods = earlier.filter(({ source, state }) => source !== 'applied' && state !== 'removed');
  const running = pods.filter(({ isRunning }) => isRunning);
  const wouldStopAll = running.length > 0 && running.every(({ isDeclared }) => !isDeclared);
  return pods
    .filter(({ isDeclared, state }) => !isDeclared && (wouldStopAll || state === 'kept'))
    .map(({ uid }) => uid);
}
