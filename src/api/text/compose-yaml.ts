import { templateHint } from './template-hint.ts';
import { CST } from 'yaml';
import { type ManifestContent, type ManifestNode, type ManifestNote, ManifestSyntaxError } from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { yamlNumberAsKey } from './resolve-yaml-scalar.ts';
import { YamlAnchors } from './yaml-anchors.ts';
import { EntryList } from './yaml-entries.ts';
import {
  expectFlowEnd,
  readBlockItem,
  readBlockPair,
  readFlowItem,
  readFlowPair,
  refuseBlockInFlow,
  refuseMarkInFlow,
  type YamlPair,
} from './yaml-items.ts';
import { isBlockCollection, type NodeProperties, readProperties } from './yaml-properties.ts';
import { readScalar } from './yaml-scalar.ts';
import { YamlTags } from './yaml-tags.ts';
import { expectNoContent, indentHint, unexpectedToken, type YamlDocumentTokens } from './yaml-tokens.ts';

/**
 * Composes the values of a YAML document from its tokens: merge keys in the order written, the last of repeated keys,
 * scalars as keys, an alias as the value of its anchor. Throws a ManifestSyntaxError if the tokens do not form a
 * document: the parser only splits the text, so indentation, commas and properties are checked here.
 */
export function composeYaml(document: YamlDocumentTokens, budget: ReadingBudget): ManifestContent {
  const composer = new YamlComposer(new YamlTags(document.directives), budget);
  const root = document.content ? composer.document(document.content, document.directives.length > 0) : emptyNode(0);
  if (document.trailing) throw unexpectedToken(document.trailing);
  return { root, notes: composer.notes };
}

class YamlComposer {
  readonly notes: ManifestNote[] = [];
  readonly #tags: YamlTags;
  readonly #anchors: YamlAnchors;

  constructor(tags: YamlTags, budget: ReadingBudget) {
    this.#tags = tags;
    this.#anchors = new YamlAnchors(budget);
  }

  document({ start, value, end, offset }: CST.Document, hasDirectives: boolean): ManifestNode {
    const properties = readProperties(start, {
      indicator: 'doc-start',
      next: value ?? end?.[0],
      offset,
      inFlow: false,
      parentIndent: 0,
      startsLine: true,
    });
    if (hasDirectives && !properties.indicator) throw new ManifestSyntaxError('"---" is missing before this', offset);
    if (properties.indicator && isBlockCollection(value) && !properties.hasNewline) {
      throw new ManifestSyntaxError('A list or a mapping starts on the line after "---"', properties.end);
    }
    const root = this.#value(value, properties, 0);
    expectNoContent(end);
    return root;
  }

  /** A value with its properties. Without a token the value is empty: null unless a tag says otherwise. */
  #value(token: CST.Token | null | undefined, properties: NodeProperties, depth: number): ManifestNode {
    if (token?.type === 'alias') return this.#alias(token, properties, depth);
    this.#anchors.count(token?.offset ?? properties.end, depth);
    const { anchor } = properties;
    if (!anchor) return this.#content(token, properties, depth);
    if (anchor.source === '&') throw new ManifestSyntaxError('An anchor needs a name', anchor.offset);
    return this.#anchors.anchored(anchor.source.slice(1), depth, () => this.#content(token, properties, depth));
  }

  #content(token: CST.Token | null | undefined, properties: NodeProperties, depth: number): ManifestNode {
    const tag = properties.tag && this.#tags.resolve(properties.tag);
    if (!token) return tag === undefined ? emptyNode(properties.end) : readScalar(emptyScalar(properties.end), tag);
    if (CST.isScalar(token)) return readScalar(token, tag);
    if (token.type === 'block-map') return this.#blockMap(token, depth);
    if (token.type === 'block-seq') return this.#blockSequence(token, properties, depth);
    if (token.type !== 'flow-collection') throw new ManifestSyntaxError('Expected a value', token.offset, indentHint);
    return token.start.source === '{' ? this.#flowMap(token, depth) : this.#flowSequence(token, depth);
  }

  #alias(token: CST.FlowScalar, { anchor, tag }: NodeProperties, depth: number): ManifestNode {
    const property = anchor ?? tag;
    if (property) throw new ManifestSyntaxError('An alias can have neither an anchor nor a tag', property.offset);
    if (token.source === '*') throw new ManifestSyntaxError('An alias needs the name of an anchor', token.offset);
    expectNoContent(token.end);
    this.#anchors.count(token.offset, depth);
    return this.#anchors.resolve(token.source.slice(1), token.offset, depth + 1);
  }

  #blockSequence(
    { indent, items, offset }: CST.BlockSequence,
    properties: NodeProperties,
    depth: number,
  ): ManifestNode {
    const property = lastProperty(properties);
    if (property && !((properties.newlineAfterProperty?.offset ?? -1) > property.offset)) {
      throw new ManifestSyntaxError('A list starts on the line after its anchor or tag', property.offset);
    }
    const nodes: ManifestNode[] = [];
    for (const item of items) {
      const found = readBlockItem(item, indent);
      if (found) nodes.push(this.#value(item.value, found, depth + 1));
    }
    return { start: offset, kind: 'list', items: nodes };
  }

  #blockMap(map: CST.BlockMap, depth: number): ManifestNode {
    const entries = new EntryList(this.notes);
    for (const item of map.items) {
      const pair = readBlockPair(map, item);
      if (pair) this.#entry(entries, pair, depth);
    }
    return { start: map.offset, kind: 'object', entries: entries.list };
  }

  #flowMap(map: CST.FlowCollection, depth: number): ManifestNode {
    const entries = new EntryList(this.notes);
    for (const [index, item] of map.items.entries()) {
      const before = readFlowItem(map, item, index);
      if (before) this.#entry(entries, readFlowPair(map, item, before), depth);
    }
    expectFlowEnd(map);
    return { start: map.offset, kind: 'object', entries: entries.list };
  }

  #flowSequence(list: CST.FlowCollection, depth: number): ManifestNode {
    const nodes: ManifestNode[] = [];
    for (const [index, item] of list.items.entries()) {
      const before = readFlowItem(list, item, index);
      if (!before) continue;
      if (!item.sep && !before.indicator) {
        refuseBlockInFlow(item.value);
        refuseMarkInFlow(item.value);
        nodes.push(this.#value(item.value, before, depth + 1));
        continue;
      }
      // `[a: b]` is a list of one mapping.
      const entries = new EntryList(this.notes);
      this.#anchors.count(before.end, depth + 1);
      this.#entry(entries, readFlowPair(list, item, before), depth + 1);
      nodes.push({ start: item.key?.offset ?? before.end, kind: 'object', entries: entries.list });
    }
    expectFlowEnd(list);
    return { start: list.offset, kind: 'list', items: nodes };
  }

  #entry(entries: EntryList, { key, before, value, after }: YamlPair, depth: number): void {
    const keyStart = key?.offset ?? before.end;
    if (isMergeKey(key, before.tag && this.#tags.resolve(before.tag))) {
      this.#merge(entries, value, this.#value(value, after, depth + 1), keyStart);
      return;
    }
    const name = this.#key(key, before, keyStart, depth + 1);
    entries.add({ key: name, keyStart, value: this.#value(value, after, depth + 1) });
  }

  #merge(entries: EntryList, token: CST.Token | null | undefined, value: ManifestNode, start: number): void {
    if (value.kind === 'object') {
      entries.merge(value.entries);
      return;
    }
    if (value.kind !== 'list' || token?.type === 'alias') throw mergeError(start);
    // The first mapping of the list wins, so it is merged last.
    for (const item of value.items.toReversed()) {
      if (item.kind !== 'object') throw mergeError(start);
      entries.merge(item.entries);
    }
  }

  #key(token: CST.Token | null | undefined, properties: NodeProperties, start: number, depth: number): string {
    if (isBlockCollection(token) || token?.type === 'flow-collection') throw complexKey(start);
    const key = this.#value(token, properties, depth);
    switch (key.kind) {
      case 'string':
        return key.value;
      case 'bool':
        return String(key.value);
      case 'number':
        return yamlNumberAsKey(key.text);
      case 'null':
        throw new ManifestSyntaxError('A key may not be empty or null', start, 'Put the key in quotes.');
      case 'list':
      case 'object':
        throw complexKey(start);
    }
  }
}

/** True for a plain `<<`, unless a tag makes it another type. */
function isMergeKey(key: CST.Token | null | undefined, tag: string | undefined): boolean {
  return key?.type === 'scalar' && key.source === '<<' && (tag === undefined || tag.endsWith('merge'));
}

function mergeError(start: number): ManifestSyntaxError {
  return new ManifestSyntaxError('The value of a merge key "<<" must be a mapping or a list of mappings', start);
}

function complexKey(start: number): ManifestSyntaxError {
  return new ManifestSyntaxError('A list or a mapping cannot be a key', start, templateHint('{{'));
}

function emptyNode(start: number): ManifestNode {
  return { start, kind: 'null' };
}

function emptyScalar(offset: number): CST.FlowScalar {
  return { type: 'scalar', offset, indent: 0, source: '' };
}

function lastProperty({ anchor, tag }: NodeProperties): CST.SourceToken | undefined {
  return anchor && tag ? (anchor.offset > tag.offset ? anchor : tag) : (anchor ?? tag);
}
