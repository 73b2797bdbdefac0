import type { ManifestObject } from '../decoding/manifest-object.ts';
import type { ManifestNode } from '../text/manifest-node.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';

const annotation = 'kubelet-ts.io/accept-warnings';

/**
 * The problems of an object, with the warnings that its annotation accepts as notes. The annotation names their
 * fields as `validate` prints them, such as `kind, spec.completions`, or is `*` for all.
 */
export function withAccepted(object: ManifestObject, problems: readonly ManifestProblem[]): readonly ManifestProblem[] {
  const hasWarning = problems.some(({ severity }) => severity === 'warning');
  const written = hasWarning ? annotationOf(object.node) : undefined;
  if (written === undefined) return problems;
  const accepted = new Set(written.split(',').map((field) => field.trim()));
  return problems.map((problem) => {
    const isAccepted = accepted.has('*') || accepted.has(fieldIn(object, problem));
    return problem.severity === 'warning' && isAccepted ? { ...problem, severity: 'note' } : problem;
  });
}

/** The field within the object, also for an item of a List. */
function fieldIn({ path }: ManifestObject, { field = '' }: ManifestProblem): string {
  return path !== '' && field.startsWith(`${path}.`) ? field.slice(path.length + 1) : field;
}

function annotationOf(node: ManifestNode): string | undefined {
  const annotations = member(member(node, 'metadata'), 'annotations');
  const written = member(annotations, annotation);
  return written?.kind === 'string' ? written.value : undefined;
}

function member(node: ManifestNode | undefined, key: string): ManifestNode | undefined {
  return node?.kind === 'object' ? node.entries.findLast((entry) => entry.key === key)?.value : undefined;
}
