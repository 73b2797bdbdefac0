import { CST } from 'yaml';
import { ManifestSyntaxError } from './manifest-node.ts';
import { isBlockCollection, type NodeProperties, readProperties } from './yaml-properties.ts';
import { expectNoContent, indentHint } from './yaml-tokens.ts';

/** A key and its value, with what stands before them. */
export interface YamlPair {
  key: CST.Token | null | undefined;
  before: NodeProperties;
  value: CST.Token | null | undefined;
  after: NodeProperties;
}

/** Properties of an item of a block list. Returns undefined if there is only a comment. */
export function readBlockItem(
  { start, value }: CST.BlockSequence['items'][number],
  parentIndent: number,
): NodeProperties | undefined {
  const offset = value && 'offset' in value ? value.offset : 0;
  const properties = readProperties(start, {
    indicator: 'seq-item-ind',
    next: value,
    offset,
    inFlow: false,
    parentIndent,
    startsLine: true,
  });
  if (properties.indicator) return properties;
  if (!properties.anchor && !properties.tag && !value) return undefined;
  throw new ManifestSyntaxError('"- " is missing before an item of a list', offset, indentHint);
}

/** A member of a block mapping. Returns undefined if there is only a comment. */
export function readBlockPair(map: CST.BlockMap, item: CST.BlockMap['items'][number]): YamlPair | undefined {
  const { start, key, sep, value } = item;
  const offset = key?.offset ?? sep?.[0]?.offset ?? map.offset;
  const before = readProperties(start, {
    indicator: 'explicit-key-ind',
    next: key ?? sep?.[0],
    offset,
    inFlow: false,
    parentIndent: map.indent,
    startsLine: true,
  });
  const isImplicit = !before.indicator;
  if (isImplicit && !checkImplicitKey(map, item, before)) return undefined;
  if (before.indicator && before.indicator.indent !== map.indent) throw badIndent(before.indicator.offset);
  const after = readProperties(sep ?? [], {
    indicator: 'map-value-ind',
    next: value,
    offset,
    inFlow: false,
    parentIndent: map.indent,
    startsLine: !key || key.type === 'block-scalar',
  });
  if (isImplicit && !after.indicator) {
    throw new ManifestSyntaxError('":" is missing behind a key', offset, indentHint);
  }
  if (isImplicit && value?.type === 'block-map' && !after.hasNewline) {
    const [first] = value.items;
    if (first?.key && spansLines(first.key)) throw indentedBelowValue(first.key);
    throw new ManifestSyntaxError('A mapping cannot start on the line of its key', value.offset, indentHint);
  }
  return { key, before, value: after.indicator && value, after };
}

/** Returns false if there is no key. */
function checkImplicitKey(
  { indent }: CST.BlockMap,
  { key, sep }: CST.BlockMap['items'][number],
  { anchor, end, newlineAfterProperty, tag }: NodeProperties,
): boolean {
  if (key?.type === 'block-seq') {
    throw new ManifestSyntaxError('A list cannot be a key', key.offset, indentHint);
  }
  if (key && 'indent' in key && key.indent !== indent) throw badIndent(key.offset);
  if (!anchor && !tag && !sep) return false;
  if (newlineAfterProperty ?? (key && spansLines(key))) {
    throw new ManifestSyntaxError('A key must stand on one line', key?.offset ?? end, indentHint);
  }
  return true;
}

/** Properties of an item of a flow list or mapping. Returns undefined if there is no item. */
export function readFlowItem(
  collection: CST.FlowCollection,
  { start, key, sep, value }: CST.CollectionItem,
  index: number,
): NodeProperties | undefined {
  const properties = readProperties(start, {
    indicator: 'explicit-key-ind',
    next: key ?? sep?.[0],
    offset: (key ?? value)?.offset ?? sep?.[0]?.offset ?? collection.offset,
    inFlow: true,
    parentIndent: collection.indent,
    startsLine: false,
  });
  const { anchor, comma, end, indicator, tag } = properties;
  if (index === 0 && comma) throw new ManifestSyntaxError('Unexpected ","', comma.offset);
  if (!indicator && !anchor && !tag && !sep && !value) {
    if (index < collection.items.length - 1) throw new ManifestSyntaxError('An item is missing before a comma', end);
    return undefined;
  }
  if (index > 0 && !comma) throw new ManifestSyntaxError('A comma is missing between two items', end);
  return properties;
}

/** A member of a flow mapping, or the pair in `[key: value]`. */
export function readFlowPair(
  collection: CST.FlowCollection,
  { key, sep, value }: CST.CollectionItem,
  before: NodeProperties,
): YamlPair {
  refuseBlockInFlow(key);
  refuseBlockInFlow(value);
  refuseMarkInFlow(key);
  refuseMarkInFlow(value);
  const after = readProperties(sep ?? [], {
    indicator: 'map-value-ind',
    next: value,
    offset: key?.offset ?? before.end,
    inFlow: true,
    parentIndent: collection.indent,
    startsLine: false,
  });
  if (value && !after.indicator) {
    throw new ManifestSyntaxError('A comma or ": " is missing between two items', value.offset);
  }
  return { key, before, value, after };
}

/** Throws a ManifestSyntaxError unless the collection ends with its bracket and only white space follows. */
export function expectFlowEnd(collection: CST.FlowCollection): void {
  const expected = collection.start.source === '{' ? '}' : ']';
  const [bracket, ...rest] = collection.end;
  if (bracket?.source === expected) {
    expectNoContent(rest);
    return;
  }
  throw new ManifestSyntaxError(`"${expected}" is missing`, bracket?.offset ?? endOfItems(collection), indentHint);
}

export function refuseBlockInFlow(token: CST.Token | null | undefined): void {
  if (!token || !isBlockCollection(token)) return;
  throw new ManifestSyntaxError('Inside brackets, lists and mappings are written with brackets too', token.offset);
}

/** Refuses texts in brackets that YAML 1.1 reads as marks: with "?" anywhere, or ":" at the start. */
export function refuseMarkInFlow(token: CST.Token | null | undefined): void {
  if (token?.type !== 'scalar') return;
  const at = token.source.startsWith(':') ? 0 : token.source.indexOf('?');
  if (at < 0) return;
  throw new ManifestSyntaxError(
    `Inside brackets, text with ${JSON.stringify(token.source.charAt(at))} needs quotes`,
    token.offset + at,
    'Put the whole value in quotes.',
  );
}

function badIndent(offset: number): ManifestSyntaxError {
  return new ManifestSyntaxError('All keys of a mapping must start at the same column', offset, indentHint);
}

/** The error for the key on the last line of a text that the parser takes for one key of several lines. */
function indentedBelowValue(key: CST.Token): ManifestSyntaxError {
  const source = 'source' in key ? key.source : '';
  const lineStart = source.lastIndexOf('\n') + 1;
  const offset = key.offset + lineStart + source.slice(lineStart).search(/\S/);
  const hint = 'Start it at the column of the key above, or remove the value above.';
  return new ManifestSyntaxError('This key is indented more than the key above it', offset, hint);
}

function spansLines(key: CST.Token): boolean {
  // A flow collection cannot be a key.
  if (key.type === 'flow-collection') return false;
  if (key.type !== 'alias' && (!CST.isScalar(key) || key.type === 'block-scalar')) return true;
  return key.source.includes('\n') || (key.end ?? []).some(({ type }) => type === 'newline');
}

/** Offset after the last token of a collection that lacks its bracket. */
function endOfItems({ start, items }: CST.FlowCollection): number {
  const item = items.at(-1);
  const last = item?.value ?? item?.sep?.at(-1) ?? item?.key ?? item?.start.at(-1) ?? start;
  if (last.type === 'flow-collection') return endOfItems(last);
  return 'source' in last ? last.offset + last.source.length : last.offset;
}
