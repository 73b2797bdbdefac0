import { describeKind } from '../decoding/decode-object.ts';
import type { ManifestDocument } from '../decoding/manifest-document.ts';
import { type SupportedKind, isSupportedKind, kindMeaning } from '../decoding/manifest-kinds.ts';
import { type FieldProblem, firstProblems, type ManifestObject, problemOf } from '../decoding/manifest-object.ts';
import { type ObjectType, objectType } from '../decoding/object-type.ts';
import type { ManifestEntry } from '../text/manifest-node.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { nearestName } from '../text/nearest-name.ts';

/** The objects that a document declares. */
export interface Declarations {
  objects: { kind: SupportedKind; object: ManifestObject }[];
  /** Objects of kinds that a node without a cluster cannot support. */
  ignored: { kind: string; object: ManifestObject; reason: string; isMissed: boolean }[];
  /** True if a List, or a list of pods or workloads, is empty: the manifest declares that nothing should run. */
  hasEmptyList: boolean;
  /** Number of objects found, lists included. */
  count: number;
  problems: ManifestProblem[];
}

/**
 * Classifies the objects of a document, including those in lists. An empty document declares nothing. Stops after the
 * first object beyond `maxCount`.
 */
export function declaredObjects(document: ManifestDocument, maxCount: number): Declarations {
  const found: Declarations = { objects: [], ignored: [], hasEmptyList: false, count: 0, problems: [] };
  if (document.root.kind !== 'null') declare(found, { document, node: document.root, path: '' }, { maxCount });
  return found;
}

interface Context {
  maxCount: number;
  /** The type of the items, in a list of one kind. */
  listed?: ObjectType;
}

function declare(found: Declarations, object: ManifestObject, context: Context): void {
  const { listed } = context;
  found.count++;
  const refuse = (problem: Omit<FieldProblem, 'severity'>): void => {
    found.problems.push(problemOf(object, { ...problem, severity: 'error' }));
  };
  if (object.node.kind !== 'object') {
    refuse({
      field: '',
      message: `Expected an object, found ${describeKind(object.node)}`,
      hint: hintForObject(object),
    });
    return;
  }
  const read = objectType(object, listed);
  if ('problem' in read) {
    found.problems.push(read.problem);
    return;
  }
  const { apiVersion, kind } = read.type;
  if (listed && (apiVersion !== listed.apiVersion || kind !== listed.kind)) {
    const message = `A ${listed.kind}List cannot hold a ${kind} of ${apiVersion}`;
    refuse({ field: 'kind', message, hint: 'A list of anything has "apiVersion: v1" and "kind: List".' });
    return;
  }
  const meaning = kindMeaning(apiVersion, kind);
  switch (meaning.type) {
    case 'supported':
      found.objects.push({ kind: meaning.kind, object });
      break;
    case 'list':
      declareItems(found, object, {
        maxCount: context.maxCount,
        ...(meaning.itemKind !== undefined && { listed: { apiVersion, kind: meaning.itemKind } }),
      });
      break;
    case 'unsupported':
      found.ignored.push({ kind, object, reason: meaning.reason, isMissed: meaning.isMissed });
      break;
    case 'unknown':
      refuse({ field: meaning.field, message: meaning.message, hint: meaning.hint });
  }
}

const listFields = ['apiVersion', 'kind', 'metadata', 'items'];

function declareItems(found: Declarations, list: ManifestObject, context: Context): void {
  const entries = list.node.kind === 'object' ? list.node.entries : [];
  const unknown = entries.filter(({ key }) => !listFields.some((field) => field.toLowerCase() === key.toLowerCase()));
  found.problems.push(...firstProblems(unknown, unknownListField).map((problem) => problemOf(list, problem)));
  const items = entries.findLast(({ key }) => key === 'items')?.value;
  // Go writes null for an empty list, but also for one that it failed to fill, so null is an error.
  if (items?.kind !== 'list') {
    const message = items ? `Expected a list, found ${describeKind(items)}` : 'items is missing';
    const isNothing = items === undefined || items.kind === 'null';
    const hint = isNothing ? 'Write "items: []" for a list that declares nothing.' : 'Start each item with "- ".';
    found.problems.push(problemOf(list, { field: 'items', message, hint, severity: 'error' }));
    return;
  }
  if (entries.filter(({ key }) => key === 'items').length > 1) {
    const message = 'items is written more than once';
    found.problems.push(problemOf(list, { field: 'items', message, hint: 'Keep one of them.', severity: 'error' }));
    return;
  }
  const nodes = items.items;
  if (nodes.length === 0 && declaresWhatRuns(context.listed?.kind)) found.hasEmptyList = true;
  const path = list.path === '' ? 'items' : `${list.path}.items`;
  for (const [index, node] of nodes.entries()) {
    if (found.count > context.maxCount) return;
    declare(found, { document: list.document, node, path: `${path}[${index}]` }, context);
  }
}

const isForPods = (kind: string): boolean =>
  /^(ConfigMap|Secret|Service|Endpoints|EndpointSlice|PersistentVolume(Claim)?|CSIDriver)$/.test(kind);

/** True if an empty list of this kind, or a plain List, declares that nothing should run. */
function declaresWhatRuns(listed = 'Pod'): boolean {
  return isSupportedKind(listed) && !isForPods(listed);
}

function unknownListField({ key }: ManifestEntry): FieldProblem {
  const nearest = nearestName(key, listFields);
  const hint = nearest === undefined ? 'Only the items of a list count.' : `Did you mean "${nearest}"?`;
  return { field: key, message: `Unknown field "${key}" is ignored`, hint, severity: 'warning' };
}

function hintForObject({ node, path }: ManifestObject): string {
  if (node.kind === 'list' && path === '') return 'Put "---" between objects, or make them the items of a List.';
  return 'An object has apiVersion and kind.';
}
