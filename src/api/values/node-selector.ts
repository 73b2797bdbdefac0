import type { NodeSelectorRequirement, NodeSelectorTerm } from 'kubernetes-types/core/v1.js';
import type { LabelSelector } from 'kubernetes-types/meta/v1.js';

type Labels = Readonly<Record<string, string>>;

export interface LabelledNode {
  name: string;
  labels: Labels;
}

/** True if one term matches the node. kubelet: component-helpers/scheduling/corev1/nodeaffinity NodeSelector */
export function matchesNodeSelector(terms: readonly NodeSelectorTerm[], node: LabelledNode): boolean {
  return terms.some((term) => matchesTerm(term, node));
}

/** True if the selector selects these labels. An empty selector selects all. */
export function matchesLabelSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels) {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => matches(requirement, labels[requirement.key]))
  );
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
