import { cycleOf, cycleText, dependsOn, findDependency } from '../../api/values/depends-on.ts';
import type { Pod, PodStatus } from '../../api/types.ts';
import { reasons } from '../view/reasons.ts';
import { isReady } from '../status/status-manager.ts';
import type { Rejection } from '../view/snapshot.ts';

/** What a pod that does not run yet is to do: start, wait for what `message` tells, or give up until manifests change. */
export type StartOrder =
  { decision: 'start' } | { decision: 'wait'; message: string } | { decision: 'refuse'; rejection: Rejection };

/**
 * Whether a pod has to wait for others, as its annotation says. One that completed has done what was waited for. `pods` are
 * all that are declared.
 */
export function computeStartOrder(
  pod: Pod,
  pods: readonly Pod[],
  statusOf: (pod: Pod) => PodStatus | undefined,
): StartOrder {
  const keys = dependsOn(pod);
  if (keys.length === 0) return { decision: 'start' };
  const cycle = cycleOf(pod, pods);
  if (cycle !== undefined) {
    const rejection = {
      reason: reasons.startOrderCycle,
      message: cycleText(cycle),
      retriedWhen: 'manifests change',
    } as const;
    return { decision: 'refuse', rejection };
  }
  const unready: string[] = [];
  const undeclared: string[] = [];
  for (const key of keys) {
    const dependency = findDependency(key, pods);
    if (dependency === undefined) undeclared.push(shownKey(key, pod));
    else if (!isThere(statusOf(dependency))) unready.push(shownKey(key, pod));
  }
  const waits = [
    ...(unready.length > 0 ? [`Waiting for ${unready.join(', ')} to be Ready`] : []),
    ...(undeclared.length > 0 ? [`Waiting for ${undeclared.join(', ')}, which no manifest declares`] : []),
  ];
  return waits.length === 0 ? { decision: 'start' } : { decision: 'wait', message: waits.join('. ') };
}

function isThere(status: PodStatus | undefined): boolean {
  return isReady(status) || status?.phase === 'Succeeded';
}

/** Without the namespace when it is that of the pod. */
function shownKey(key: string, { metadata }: Pod): string {
  const own = `${metadata.namespace}/`;
  return key.startsWith(own) ? key.slice(own.length) : key;
}
