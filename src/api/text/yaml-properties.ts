import type { CST } from 'yaml';
import { ManifestSyntaxError } from './manifest-node.ts';
import { unexpectedToken } from './yaml-tokens.ts';

/** What stands before a YAML value on its lines: indicator, anchor, tag, white space. */
export interface NodeProperties {
  anchor: CST.SourceToken | undefined;
  tag: CST.SourceToken | undefined;
  /** The `-`, `?`, `:` or `---` that was looked for. */
  indicator: CST.SourceToken | undefined;
  comma: CST.SourceToken | undefined;
  hasNewline: boolean;
  /** The last line break behind an anchor or a tag. */
  newlineAfterProperty: CST.SourceToken | undefined;
  /** Offset behind all of it. */
  end: number;
}

/** Where the properties stand. */
export interface PropertiesPlace {
  indicator: 'doc-start' | 'explicit-key-ind' | 'map-value-ind' | 'seq-item-ind';
  next: CST.Token | undefined;
  /** Offset of the first of them, for when there is none. */
  offset: number;
  inFlow: boolean;
  parentIndent: number;
  startsLine: boolean;
}

/** Reads what stands before a value, and throws a ManifestSyntaxError for what may not stand there. */
export function readProperties(tokens: readonly CST.SourceToken[], place: PropertiesPlace): NodeProperties {
  const properties: NodeProperties = {
    anchor: undefined,
    tag: undefined,
    indicator: undefined,
    comma: undefined,
    hasNewline: false,
    newlineAfterProperty: undefined,
    end: place.offset,
  };
  if (tokens.length === 0) return properties;
  const { next } = place;
  let atNewline = place.startsLine;
  let afterSpace = place.startsLine;
  let afterProperty = false;
  let tab: CST.SourceToken | undefined;
  for (const token of tokens) {
    const { type } = token;
    if (afterProperty && !isSeparator(token)) throw unseparated(token.offset);
    if (tab && atNewline && type !== 'comment' && type !== 'newline') throw tabAsIndent(tab);
    afterProperty = type === 'anchor' || type === 'tag';
    tab = type === 'space' && isIndentation(place) && token.source.includes('\t') ? token : undefined;
    if (type === 'comment' && !afterSpace) {
      throw new ManifestSyntaxError('White space is missing before a comment', token.offset);
    }
    take(properties, token, place);
    if (type !== 'space') atNewline = type === 'newline' || (type === place.indicator && isItemIndicator(place));
    if (type !== 'comment') afterSpace = type === 'space' || type === 'newline';
    properties.end = token.offset + token.source.length;
  }
  if (afterProperty && next && !(next.type === 'scalar' && next.source === '')) throw unseparated(next.offset);
  if (tab && ((atNewline && tab.indent <= place.parentIndent) || isBlockCollection(next))) throw tabAsIndent(tab);
  return properties;
}

/** Notes what the token says, if it may stand here. */
function take(properties: NodeProperties, token: CST.SourceToken, { inFlow, indicator }: PropertiesPlace): void {
  const { type } = token;
  if (type === 'newline') {
    properties.hasNewline = true;
    if (properties.anchor ?? properties.tag) properties.newlineAfterProperty = token;
  } else if (type === indicator) {
    takeIndicator(properties, token);
  } else if (type === 'anchor' || type === 'tag') {
    if (properties[type]) throw new ManifestSyntaxError(`A value can have only one ${type}`, token.offset);
    properties[type] = token;
  } else if (type === 'comma') {
    if (!inFlow || properties.comma) throw unexpectedToken(token);
    properties.comma = token;
  } else if (type !== 'space' && type !== 'comment') {
    throw unexpectedToken(token);
  }
}

/** A value may go on behind these as if it began a line. */
function isItemIndicator({ indicator }: PropertiesPlace): boolean {
  return indicator === 'seq-item-ind' || indicator === 'explicit-key-ind';
}

/** True for the collections that are written by indentation alone. */
export function isBlockCollection(token: CST.Token | null | undefined): boolean {
  return token?.type === 'block-map' || token?.type === 'block-seq';
}

/** Inside brackets, and before a bracket at the start of a document, white space indents nothing. */
function isIndentation({ inFlow, indicator, next }: PropertiesPlace): boolean {
  return !inFlow && !(indicator === 'doc-start' && next?.type === 'flow-collection');
}

function takeIndicator(properties: NodeProperties, token: CST.SourceToken): void {
  if (properties.anchor ?? properties.tag) {
    throw new ManifestSyntaxError(`Anchors and tags belong behind the "${token.source}"`, token.offset);
  }
  if (properties.indicator) throw unexpectedToken(token);
  properties.indicator = token;
}

function isSeparator({ type }: CST.SourceToken): boolean {
  return type === 'space' || type === 'newline' || type === 'comma';
}

function unseparated(offset: number): ManifestSyntaxError {
  return new ManifestSyntaxError('White space is missing behind an anchor or a tag', offset);
}

function tabAsIndent({ offset }: CST.SourceToken): ManifestSyntaxError {
  return new ManifestSyntaxError('A tab is no indentation', offset, 'Indent with spaces; YAML allows no tabs there.');
}
