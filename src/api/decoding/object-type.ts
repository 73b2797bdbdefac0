import { hintForApiVersion } from './manifest-kinds.ts';
import type { ManifestNode } from '../text/manifest-node.ts';
import { type ManifestObject, problemOf } from './manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';

/** The apiVersion and kind of an object. */
export interface ObjectType {
  apiVersion: string;
  kind: string;
}

/** The type of an object. Missing parts come from the enclosing list. */
export function objectType(
  object: ManifestObject,
  listed?: ObjectType,
): { type: ObjectType } | { problem: ManifestProblem } {
  const type: ObjectType = { apiVersion: '', kind: '' };
  for (const field of ['apiVersion', 'kind'] as const) {
    const node = typeField(object.node, field);
    if (node?.kind === 'string') type[field] = node.value;
    else if (node && node.kind !== 'null') return { problem: refuse(object, field, `${field} must be a string`) };
    else if (listed) type[field] = listed[field];
    else return { problem: refuse(object, field, `${field} is missing`) };
  }
  return { type };
}

function refuse(object: ManifestObject, field: string, message: string): ManifestProblem {
  const kind = typeField(object.node, 'kind');
  const hint = hintForOtherTool(object.node) ?? hintForApiVersion(kind?.kind === 'string' ? kind.value : 'Pod');
  return problemOf(object, { field, message, hint, severity: 'error' });
}

/** Hint for the file of another tool. Returns undefined if the tool is not known. */
function hintForOtherTool(node: ManifestNode): string | undefined {
  if (typeField(node, 'kind') !== undefined) return undefined;
  if (typeField(node, 'services')?.kind === 'object')
    return 'This is a file of Docker Compose. Make manifests of it: kompose convert';
  if (typeField(node, 'resources')?.kind === 'list')
    return 'This is a kustomization. Make a manifest of it: kubectl kustomize FOLDER > FILE.yaml';
  return undefined;
}

/** Finds the field by its exact name, or else ignoring case, as Go does for these two names. */
function typeField(node: ManifestNode, name: string): ManifestNode | undefined {
  if (node.kind !== 'object') return undefined;
  const exact = node.entries.findLast((entry) => entry.key === name);
  return (exact ?? node.entries.findLast((entry) => entry.key.toLowerCase() === name.toLowerCase()))?.value;
}
