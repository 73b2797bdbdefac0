import { composeYaml } from './compose-yaml.ts';
import { indentContinuations } from './indent-continuations.ts';
import {
  type ManifestContent,
  ManifestLimitError,
  type ManifestNode,
  ManifestSyntaxError,
  ManifestWordError,
} from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { parseFirstDocument } from './yaml-tokens.ts';

/**
 * Reads the first document of any YAML text. This reader defines what a text means, and only this reader reports what
 * is wrong with a text.
 */
export function readExactYaml(text: string, budget: ReadingBudget): ManifestContent {
  refuseControlCharacters(text);
  const written = withPlainLineBreaks(text);
  // The second attempt gets the same budget as the first.
  const budgetBefore = budget.copy();
  const content = tryReading(written, budget);
  if (!(content instanceof ManifestSyntaxError)) return content;
  if (content instanceof ManifestLimitError) throw content;
  return readIndented(written, content, budgetBefore);
}

function tryReading(text: string, budget: ReadingBudget): ManifestContent | ManifestSyntaxError {
  try {
    return composeYaml(parseFirstDocument(text, budget), budget);
  } catch (error) {
    if (error instanceof ManifestSyntaxError) return error;
    throw error;
  }
}

/**
 * Reads a broken text again with indented continuation lines. Of two errors, throws the one further down. At the same
 * place the second one counts, because its reader found the ends of more quotes.
 */
function readIndented(text: string, broken: ManifestSyntaxError, budget: ReadingBudget): ManifestContent {
  if (broken instanceof ManifestWordError) throw broken;
  const indented = indentContinuations(text);
  // Indentation cannot fix an error before the first of those lines.
  if (!indented || broken.start < indented.start) throw broken;
  const { toOriginalOffset } = indented;
  const content = tryReading(indented.text, budget);
  if (!(content instanceof ManifestSyntaxError)) {
    relocate(content.root, toOriginalOffset, new Set());
    for (const note of content.notes) note.start = toOriginalOffset(note.start);
    return content;
  }
  const start = toOriginalOffset(content.start);
  throw start >= broken.start ? new ManifestSyntaxError(content.message, start, content.hint) : broken;
}

/** Maps the places of all values back to the original text. */
function relocate(node: ManifestNode, toOriginalOffset: (offset: number) => number, seen: Set<ManifestNode>): void {
  // An alias and its anchor share one node, which is relocated once.
  if (seen.has(node)) return;
  seen.add(node);
  node.start = toOriginalOffset(node.start);
  if (node.kind === 'list') for (const item of node.items) relocate(item, toOriginalOffset, seen);
  if (node.kind !== 'object') return;
  for (const entry of node.entries) {
    entry.keyStart = toOriginalOffset(entry.keyStart);
    relocate(entry.value, toOriginalOffset, seen);
  }
}

function refuseControlCharacters(text: string): void {
  // eslint-disable-next-line no-control-regex -- the characters YAML forbids
  const found = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/.exec(text);
  if (!found) return;
  const code = found[0].charCodeAt(0).toString(16).padStart(4, '0').toUpperCase();
  throw new ManifestSyntaxError(
    `Control character U+${code} is not allowed in YAML`,
    found.index,
    'Remove it, or write it as an escape in double quotes.',
  );
}

/**
 * Replaces the line breaks that the parser does not know: a lone CR, and NEL, both breaks in YAML 1.1. Inside quotes
 * such a break becomes a space. Offsets stay the same.
 */
function withPlainLineBreaks(text: string): string {
  if (!/[\r\u0085]/.test(text)) return text;
  return text
    .replaceAll(/\r(?!\n)/g, '\n')
    .replaceAll(/"[^"\n]*"/g, (quoted) => quoted.replaceAll('\u0085', ' '))
    .replaceAll('\u0085', '\n');
}
