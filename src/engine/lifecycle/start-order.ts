import { cycleOf, cycleText, dependsOn, findDependency } from '../../api/values/depends-on.ts';
import type { Pod, PodStatus } from '../../api/types.ts';
import { isReadyOrDone } from '../../api/values/pod-conditions.ts';
import { reasons } from '../view/reasons.ts';
import type { AwaitedPods, Rejection } from '../view/snapshot.ts';

/** Decision for a pod that is not running: start, wait, or reject it until manifests change. */
export type StartOrder =
  { decision: 'start' } | { decision: 'wait'; awaits: AwaitedPods } | { decision: 'refuse'; rejection: Rejection };

/**
 * Decides whether a pod must wait for the pods in its annotation. A completed pod counts as ready. `pods` are all
 * declared pods.
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
    const rejection = { reason: reasons.startOrderCycle, message: cycleText(cycle), retryOn: 'anyManifest' } as const;
    return { decision: 'refuse', rejection };
  }
  const unready: string[] = [];
  const undeclared: string[] = [];
  for (const key of keys) {
    const dependency = findDependency(key, pods);
    if (dependency === undefined) undeclared.push(shownKey(key, pod));
    else if (!isReadyOrDone(statusOf(dependency))) unready.push(shownKey(key, pod));
  }
  if (unready.length + undeclared.length === 0) return { decision: 'start' };
  return { decision: 'wait', awaits: { unready, undeclared } };
}

/** For example `Waiting for etcd to be Ready. Waiting for db, which no manifest declares`. */
export function awaitedPodsText({ unready, undeclared }: AwaitedPods): string {
  return [
    ...(unready.length > 0 ? [`Waiting for ${unready.join(', ')} to be Ready`] : []),
    ...(undeclared.length > 0 ? [`Waiting for ${undeclared.join(', ')}, which no manifest declares`] : []),
  ].join('. ');
}

/** Leaves out the namespace if it is the pod's. */
function shownKey(key: string, { metadata }: Pod): string {
  const own = `${metadata.namespace}/`;
  return key.startsWith(own) ? key.slice(own.length) : key;
}
