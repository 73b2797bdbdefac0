import { isAlias, isMap, isScalar, isSeq, type ParsedNode, type Scalar, type YAMLMap } from 'yaml';
import { decodeBase64 } from './base64.ts';
import {
  type ManifestContent,
  type ManifestNode,
  type ReaderWarning,
  ManifestSyntaxError,
  type ManifestEntry,
  warnOfRepeatedKey,
} from './manifest-node.ts';
import { parseYaml } from './parse-yaml.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { resolveYamlScalar, type ResolvedScalar, yamlNumberAsKey } from './resolve-yaml-scalar.ts';
import { templateHint } from './template-hint.ts';
import { YamlAnchors } from './yaml-anchors.ts';

/** Reads a scalar at an offset of the text. */
type ScalarReader = (scalar: Scalar, start: number) => ManifestNode;

/**
 * Composes the values of the first document of a YAML text: merge keys in the order written, the last of repeated keys,
 * scalars as keys, and an alias as the value of its anchor.
 */
export function composeYaml(
  text: string,
  budget: ReadingBudget,
  scalar: ScalarReader = scalarOfKubelet,
): ManifestContent {
  const document = parseYaml(text, budget);
  const composer = new YamlComposer(budget, scalar);
  return { root: composer.value(document?.contents ?? null, 0, 0), warnings: composer.warnings };
}

class YamlComposer {
  readonly warnings: ReaderWarning[] = [];
  private readonly anchors: YamlAnchors;

  constructor(
    budget: ReadingBudget,
    private readonly scalar: ScalarReader,
  ) {
    this.anchors = new YamlAnchors(budget);
  }

  /** `end`: where an empty value is. */
  value(node: ParsedNode | null, end: number, depth: number): ManifestNode {
    const start = node?.range[0] ?? end;
    this.anchors.count(start, depth);
    if (node === null) return { start, kind: 'null' };
    if (isAlias(node)) return this.anchors.resolve(node.source, start, depth + 1);
    if (node.anchor === undefined) return this.content(node, start, depth);
    return this.anchors.anchored(node.anchor, depth, () => this.content(node, start, depth));
  }

  private content(node: ParsedNode, start: number, depth: number): ManifestNode {
    if (isSeq<ParsedNode>(node)) {
      return { start, kind: 'list', items: node.items.map((item) => this.value(item, start, depth + 1)) };
    }
    if (isMap<ParsedNode, ParsedNode | null>(node)) {
      return { start, kind: 'object', entries: this.entries(node, start, depth) };
    }
    return isScalar(node) ? this.scalar(node, start) : { start, kind: 'null' };
  }

  private entries(map: YAMLMap<ParsedNode, ParsedNode | null>, mapStart: number, depth: number): EntryList['list'] {
    const entries = new EntryList(this.warnings);
    for (const { key, value } of map.items) {
      const [keyStart, , keyEnd] = key.range;
      if (isMergeKey(key)) {
        merge(entries, value, this.value(value, keyEnd, depth + 1), keyStart);
        continue;
      }
      const name = keyText(this.value(key, mapStart, depth + 1));
      entries.add({ key: name, keyStart, value: this.value(value, keyEnd, depth + 1) });
    }
    return entries.list;
  }
}

/** True for a plain `<<`, unless a tag makes it another type. */
function isMergeKey(key: ParsedNode): boolean {
  if (!isScalar(key) || key.source !== '<<' || key.type !== 'PLAIN') return false;
  return key.tag === undefined || key.tag.endsWith('merge');
}

function merge(entries: EntryList, node: ParsedNode | null, value: ManifestNode, start: number): void {
  // The first mapping of a list wins, so it is merged last.
  const maps = value.kind === 'list' && !isAlias(node) ? value.items.toReversed() : [value];
  for (const map of maps) {
    if (map.kind !== 'object') {
      throw new ManifestSyntaxError('The value of a merge key "<<" must be a mapping or a list of mappings', start);
    }
    entries.merge(map.entries);
  }
}

function keyText(key: ManifestNode): string {
  switch (key.kind) {
    case 'string':
      return key.value;
    case 'bool':
      return String(key.value);
    case 'number':
      return yamlNumberAsKey(key.text);
    case 'null':
      throw new ManifestSyntaxError('A key may not be empty or null', key.start, 'Put the key in quotes.');
    case 'list':
    case 'object':
      throw new ManifestSyntaxError('A list or a mapping cannot be a key', key.start, templateHint('{{'));
  }
}

const standardTags = 'tag:yaml.org,2002:';
const kindsByTag = new Map([
  ['bool', ['bool']],
  ['int', ['number']],
  ['float', ['number', 'notFinite']],
  ['null', ['null']],
]);

/** Returns the text of a scalar. Ignores its tag. */
export const scalarAsText: ScalarReader = ({ source = '' }, start) => ({ start, kind: 'string', value: source });

/** The value of a scalar: by its tag, else by its quotes, else by its text. */
function scalarOfKubelet({ source = '', tag, type }: Scalar, start: number): ManifestNode {
  const resolved = tag === undefined && type !== 'PLAIN' ? text(source) : resolveTagged(source, tag, start);
  if (resolved.kind === 'notFinite') {
    throw new ManifestSyntaxError(`JSON has no ${resolved.text}`, start, 'Put it in quotes if it is text.');
  }
  return { start, ...resolved };
}

function resolveTagged(source: string, tag: string | undefined, start: number): ResolvedScalar {
  if (tag === undefined || tag === '!') return resolveYamlScalar(source);
  const name = tag.startsWith(standardTags) ? tag.slice(standardTags.length) : '';
  if (name === 'binary') return text(decodeBinary(source, start));
  const kinds = kindsByTag.get(name);
  if (!kinds) return text(source);
  const resolved = resolveYamlScalar(source);
  const isWhole = !('text' in resolved) || /^-?[0-9]+$/.test(resolved.text);
  if (kinds.includes(resolved.kind) && (name !== 'int' || isWhole)) return resolved;
  // The message leaves out the value because it may be a secret.
  throw new ManifestSyntaxError(`The value is not of the type of its tag !!${name}`, start);
}

const text = (value: string): ResolvedScalar => ({ kind: 'string', value });

function decodeBinary(source: string, start: number): string {
  const bytes = decodeBase64(source);
  if (!bytes) throw new ManifestSyntaxError('!!binary value is not valid base64', start);
  return new TextDecoder().decode(bytes);
}

/** The members of a YAML mapping while it is read. A repeated member replaces the earlier one. */
class EntryList {
  readonly list: ManifestEntry[] = [];
  private readonly places = new Map<string, number>();
  /** Keys that only merges have set so far. */
  private readonly merged = new Set<string>();

  /** Appends warnings to `notes`. */
  constructor(private readonly warnings: ReaderWarning[]) {}

  /** Adds a member of the mapping itself. */
  add(entry: ManifestEntry): void {
    const { key, keyStart } = entry;
    if (this.places.has(key) && !this.merged.delete(key)) warnOfRepeatedKey(this.warnings, key, keyStart);
    this.set(entry);
  }

  /** Adds the members of another mapping, by a merge key. */
  merge(entries: readonly ManifestEntry[]): void {
    for (const entry of entries) {
      if (!this.places.has(entry.key)) this.merged.add(entry.key);
      this.set(entry);
    }
  }

  private set(entry: ManifestEntry): void {
    const place = this.places.get(entry.key);
    if (place === undefined) this.places.set(entry.key, this.list.push(entry) - 1);
    else this.list[place] = entry;
  }
}
