import type { Pod } from '../../../api/types.ts';
import type { RuntimePodStatus } from '../../container/runtime-pod-status.ts';

/** Minimum time between two sandboxes of a pod. The kubelet replaces one per relist: pleg/generic.go */
const sandboxPeriodMs = 1000;

interface SandboxPause {
  /** Why the sandbox is broken. */
  fault: 'ended' | 'noAddress' | 'changed';
  untilMonotonic: number;
}

/** Computes the delay before a broken sandbox is replaced. Returns undefined if it may be replaced now. */
export function sandboxPause(
  { spec }: Pod,
  { sandboxStatuses: [newest] }: RuntimePodStatus,
  { monotonicAt, nowMonotonic }: { monotonicAt: (stamp: number) => number; nowMonotonic: number },
): SandboxPause | undefined {
  if (newest === undefined) return undefined;
  const untilMonotonic = monotonicAt(newest.createdAt) + sandboxPeriodMs;
  if (nowMonotonic >= untilMonotonic) return undefined;
  if (newest.state !== 'ready') return { fault: 'ended', untilMonotonic };
  const hasNoAddress = spec.hostNetwork !== true && newest.ip === '';
  return { fault: hasNoAddress ? 'noAddress' : 'changed', untilMonotonic };
}
