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
 * Reads the first document of a YAML text, whatever it is made of. This reader is the truth about what a text says, and
 * the only one that tells what is wrong with it.
 */
export function readExactYaml(text: string, budget: ReadingBudget): ManifestContent {
  refuseControlCharacters(text);
  const written = withPlainLineBreaks(text);
  // A second try starts with what the first one had.
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

/** Reads a text that broke once more with its continuation lines indented; of two errors the later one says more. */
function readIndented(text: string, broken: ManifestSyntaxError, budget: ReadingBudget): ManifestContent {
  if (broken instanceof ManifestWordError) throw broken;
  const indented = indentContinuations(text);
  // What is wrong before the first of those lines stays wrong.
  if (!indented || broken.start < indented.start) throw broken;
  const { toOriginalOffset } = indented;
  const content = tryReading(indented.text, budget);
  if (!(content instanceof ManifestSyntaxError)) {
    relocate(content.root, toOriginalOffset, new Set());
    for (const note of content.notes) note.start = toOriginalOffset(note.start);
    return content;
  }
  const start = toOriginalOffset(content.start);
  throw start > broken.start ? new ManifestSyntaxError(content.message, start, content.hint) : broken;
}

/** Gives all values the places they have in the text as written. */
function relocate(node: ManifestNode, toOriginalOffset: (offset: number) => number, seen: Set<ManifestNode>): void {
  // An alias is the node of its anchor once more.
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
 * YAML 1.1 also breaks lines at a lone CR and at NEL, which the parser does not know. Within quotes such a break is folded
 * into a space. Offsets stay the same.
 */
function withPlainLineBreaks(text: string): string {
  if (!/[\r\u0085]/.test(text)) return text;
  return text
    .replaceAll(/\r(?!\n)/g, '\n')
    .replaceAll(/"[^"\n]*"/g, (quoted) => quoted.replaceAll('\u0085', ' '))
    .replaceAll('\u0085', '\n');
}
