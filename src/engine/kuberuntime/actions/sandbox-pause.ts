import type { Pod } from '../../../api/types.ts';
import type { RuntimePodStatus } from '../../container/runtime-pod-status.ts';

/** Minimum time between two sandboxes of a pod. The kubelet replaces one per relist: pleg/generic.go */
const sandboxPeriodMs = 1000;

interface SandboxTimes {
  monotonicAt: (stamp: number) => number;
  nowMonotonic: number;
  /** Grows with each sandbox of the pod that breaks within a second. */
  backOffMs: number;
}

export interface SandboxPause {
  /** Why the sandbox is broken. */
  fault: 'ended' | 'noAddress' | 'changed';
  untilMonotonic: number;
}

/**
 * Computes the delay before a broken sandbox is replaced, at least `backOffMs` if it broke by itself. Returns
 * undefined if it may be replaced now.
 */
export function sandboxPause(
  { spec }: Pod,
  { sandboxStatuses: [newest] }: RuntimePodStatus,
  { monotonicAt, nowMonotonic, backOffMs }: SandboxTimes,
): SandboxPause | undefined {
  if (newest === undefined) return undefined;
  const hasNoAddress = spec.hostNetwork !== true && newest.ip === '';
  const fault = newest.state !== 'ready' ? 'ended' : hasNoAddress ? 'noAddress' : 'changed';
  const delayMs = fault === 'changed' ? sandboxPeriodMs : Math.max(sandboxPeriodMs, backOffMs);
  const untilMonotonic = monotonicAt(newest.createdAt) + delayMs;
  return nowMonotonic >= untilMonotonic ? undefined : { fault, untilMonotonic };
}
