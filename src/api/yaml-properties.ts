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
    if (afterProperty && !isSeparator(token)) throw unseparated(token.offset);
    afterProperty = false;
    if (tab && atNewline && token.type !== 'comment' && token.type !== 'newline') throw tabAsIndent(tab);
    tab = undefined;
    switch (token.type) {
      case 'space':
        if (isIndentation(place) && token.source.includes('\t')) tab = token;
        afterSpace = true;
        break;
      case 'comment':
        if (!afterSpace) throw new ManifestSyntaxError('White space is missing before a comment', token.offset);
        atNewline = false;
        break;
      case 'newline':
        atNewline = true;
        afterSpace = true;
        properties.hasNewline = true;
        if (properties.anchor ?? properties.tag) properties.newlineAfterProperty = token;
        break;
      case 'anchor':
      case 'tag':
        if (properties[token.type]) {
          throw new ManifestSyntaxError(`A value can have only one ${token.type}`, token.offset);
        }
        properties[token.type] = token;
        atNewline = false;
        afterSpace = false;
        afterProperty = true;
        break;
      case place.indicator:
        takeIndicator(properties, token);
        atNewline = place.indicator === 'seq-item-ind' || place.indicator === 'explicit-key-ind';
        afterSpace = false;
        break;
      case 'comma':
        if (!place.inFlow || properties.comma) throw unexpectedToken(token);
        properties.comma = token;
        atNewline = false;
        afterSpace = false;
        break;
      default:
        throw unexpectedToken(token);
    }
    properties.end = token.offset + token.source.length;
  }
  if (afterProperty && next && !(next.type === 'scalar' && next.source === '')) throw unseparated(next.offset);
  if (tab && ((atNewline && tab.indent <= place.parentIndent) || isBlockCollection(next))) throw tabAsIndent(tab);
  return properties;
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
