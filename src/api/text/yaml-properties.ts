import type { CST } from 'yaml';
import { ManifestSyntaxError } from './manifest-node.ts';
import { unexpectedToken } from './yaml-tokens.ts';

/** The tokens before a YAML value: indicator, anchor, tag, white space. */
export interface NodeProperties {
  anchor: CST.SourceToken | undefined;
  tag: CST.SourceToken | undefined;
  /** The expected `-`, `?`, `:` or `---`. */
  indicator: CST.SourceToken | undefined;
  comma: CST.SourceToken | undefined;
  hasNewline: boolean;
  /** The last line break after an anchor or a tag. */
  newlineAfterProperty: CST.SourceToken | undefined;
  /** Offset after the last of these tokens. */
  end: number;
}

/** The context of the properties. */
export interface PropertiesPlace {
  indicator: 'doc-start' | 'explicit-key-ind' | 'map-value-ind' | 'seq-item-ind';
  next: CST.Token | undefined;
  /** Offset to report if there are no tokens. */
  offset: number;
  inFlow: boolean;
  parentIndent: number;
  startsLine: boolean;
}

/** Reads the tokens before a value. Throws a ManifestSyntaxError if one is not allowed there. */
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

/** Records the token. Throws a ManifestSyntaxError if it is not allowed there. */
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

/** True for indicators after which a value may continue as if on a new line. */
function isItemIndicator({ indicator }: PropertiesPlace): boolean {
  return indicator === 'seq-item-ind' || indicator === 'explicit-key-ind';
}

/** True for collections written by indentation, without brackets. */
export function isBlockCollection(token: CST.Token | null | undefined): boolean {
  return token?.type === 'block-map' || token?.type === 'block-seq';
}

/** True if white space is indentation here. It is not inside brackets, or before a bracket that starts a document. */
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
  return new ManifestSyntaxError('A tab is not indentation', offset, 'Indent with spaces; YAML allows no tabs there.');
}
