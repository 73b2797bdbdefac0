import type { NodeSelectorRequirement, NodeSelectorTerm } from 'kubernetes-types/core/v1.js';
import type { PodSpec } from '../../api/types.ts';

interface LabelledNode {
  name: string;
  labels: Readonly<Record<string, string>>;
}

/**
 * True if the node matches the pod's nodeSelector and required node affinity. kubelet:
 * component-helpers/scheduling/corev1/nodeaffinity GetRequiredNodeAffinity
 */
export function matchesNodeAffinity({ nodeSelector = {}, affinity }: PodSpec, node: LabelledNode): boolean {
  const selected = Object.entries(nodeSelector).every(([key, value]) => node.labels[key] === value);
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selected && (required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node)));
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

/** An empty term matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: LabelledNode): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => matches(requirement, node.labels[requirement.key])) &&
    matchFields.every((requirement) =>
      matches(requirement, requirement.key === 'metadata.name' ? node.name : undefined),
    )
  );
}

/** `value` is undefined if the node lacks the label. */
function matches({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compares(value, values, (own, wanted) => own > wanted);
    case 'Lt':
      return compares(value, values, (own, wanted) => own < wanted);
    default:
      return false;
  }
}

function compares(
  value: string | undefined,
  [wanted]: readonly string[],
  isSo: (own: bigint, wanted: bigint) => boolean,
): boolean {
  const integer = /^[-+]?\d+$/;
  if (value === undefined || wanted === undefined || !integer.test(value) || !integer.test(wanted)) return false;
  return isSo(BigInt(value.replace('+', '')), BigInt(wanted.replace('+', '')));
}
