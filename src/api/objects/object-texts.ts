import { readManifests } from '../decoding/manifest-document.ts';
import { type SupportedKind, supportedKinds } from '../decoding/manifest-kinds.ts';
import type { ManifestNode } from '../text/manifest-node.ts';
import { maxManifestObjects } from '../text/reading-budget.ts';
import { isOtherHook } from '../validation/helm-hooks.ts';
import { isWorkloadKind } from '../values/workload.ts';
import { declaredObjects } from './declared-objects.ts';

/** One object of a manifest text, as a separate manifest. */
export interface ObjectText {
  kind: SupportedKind;
  /** Empty for a kind without namespaces. */
  namespace: string;
  /** Empty if the manifest has none. */
  name: string;
  /** JSON with line breaks. */
  text: string;
  /** True for a pod or workload that Helm runs at another time than installation, so that it declares no pod. */
  isOtherHook: boolean;
}

const kindsOfNode: readonly SupportedKind[] = ['RuntimeClass', 'PriorityClass', 'PersistentVolume', 'CSIDriver'];

/** True if objects of this kind have a namespace. */
export const isNamespaced = (kind: SupportedKind): boolean => !kindsOfNode.includes(kind);

/**
 * Splits a manifest text into its objects. Omits unsupported objects, and documents that cannot be read. An object
 * without a namespace gets `namespace`.
 */
export function objectTexts(bytes: Uint8Array | string, origin: string, namespace = 'default'): ObjectText[] {
  const found = [...readManifests(bytes, origin)].flatMap((reading) =>
    'problem' in reading ? [] : declaredObjects(reading.document, maxManifestObjects).objects,
  );
  return found.map(({ kind, object }) => objectText(kind, object.node, namespace));
}

function objectText(kind: SupportedKind, node: ManifestNode, defaultNamespace: string): ObjectText {
  const metadata = member(node, 'metadata');
  const own = textOf(member(metadata, 'namespace'));
  const namespace = isNamespaced(kind) ? own || defaultNamespace : '';
  const members = membersOf(node)
    .filter(([key]) => key !== 'apiVersion' && key !== 'kind')
    .map(([key, value]): Member => [key, key === 'metadata' && own === '' ? withNamespace(value, namespace) : value]);
  const type: Member[] = [
    ['apiVersion', string(supportedKinds[kind])],
    ['kind', string(kind)],
  ];
  return {
    kind,
    namespace,
    name: textOf(member(metadata, 'name')),
    isOtherHook: (kind === 'Pod' || isWorkloadKind(kind)) && isOtherHook(textsOf(member(metadata, 'annotations'))),
    text: `${objectJSON([...type, ...members], '')}\n`,
  };
}

type Member = readonly [key: string, value: ManifestNode];

const string = (value: string): ManifestNode => ({ kind: 'string', value, start: 0 });
const textOf = (node: ManifestNode | undefined): string => (node?.kind === 'string' ? node.value : '');

const textsOf = (node: ManifestNode | undefined): Record<string, string> =>
  Object.fromEntries(membersOf(node).map(([key, value]) => [key, textOf(value)]));

function membersOf(node: ManifestNode | undefined): Member[] {
  return node?.kind === 'object' ? node.entries.map(({ key, value }) => [key, value]) : [];
}

/** The last member with this key counts. */
function member(node: ManifestNode | undefined, key: string): ManifestNode | undefined {
  return membersOf(node).findLast(([name]) => name === key)?.[1];
}

function withNamespace(metadata: ManifestNode, namespace: string): ManifestNode {
  if (metadata.kind !== 'object' || namespace === '') return metadata;
  const others = metadata.entries.filter(({ key }) => key !== 'namespace');
  return { ...metadata, entries: [...others, { key: 'namespace', keyStart: 0, value: string(namespace) }] };
}

/** Numbers keep their text, because a large one would lose digits as a number of JavaScript. */
function json(node: ManifestNode, indent: string): string {
  switch (node.kind) {
    case 'null':
      return 'null';
    case 'bool':
      return String(node.value);
    case 'number':
      return node.text;
    case 'string':
      return JSON.stringify(node.value);
    case 'list':
      return lines(['[', ']'], (inner) => node.items.map((item) => json(item, inner)), indent);
    case 'object':
      return objectJSON(membersOf(node), indent);
  }
}

function objectJSON(members: readonly Member[], indent: string): string {
  const parts = (inner: string): string[] =>
    members.map(([key, value]) => `${JSON.stringify(key)}: ${json(value, inner)}`);
  return lines(['{', '}'], parts, indent);
}

function lines([open, close]: readonly [string, string], partsOf: (inner: string) => string[], indent: string): string {
  const inner = `${indent}  `;
  const parts = partsOf(inner);
  if (parts.length === 0) return open + close;
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`;
}
