import type { PodSpec } from '../../api/types.ts';
import { type LabelledNode, matchesNodeSelector } from '../../api/values/node-selector.ts';

/**
 * True if the node matches the pod's nodeSelector and required node affinity. kubelet:
 * component-helpers/scheduling/corev1/nodeaffinity GetRequiredNodeAffinity
 */
export function matchesNodeAffinity({ nodeSelector = {}, affinity }: PodSpec, node: LabelledNode): boolean {
  const selected = Object.entries(nodeSelector).every(([key, value]) => node.labels[key] === value);
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selected && (required === undefined || matchesNodeSelector(required.nodeSelectorTerms, node));
}

/** The pod's unmet requirements, as a text. */
export function describeMismatch({ nodeSelector = {} }: PodSpec, { labels }: LabelledNode): string {
  const unmet = Object.entries(nodeSelector)
    .filter(([key, value]) => labels[key] !== value)
    .map(([key, value]) => {
      const own = labels[key];
      return `nodeSelector wants the label ${key}=${value}, and this node has ${own ?? 'none of that name'}`;
    });
  return unmet.length === 0 ? 'no term of its node affinity matches the labels of this node' : unmet.join('; ');
}
