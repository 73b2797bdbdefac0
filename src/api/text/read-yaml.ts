import { composeYaml } from './compose-yaml.ts';
import type { ManifestContent, ManifestSyntaxError } from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { templateHint } from './template-hint.ts';

/**
 * Reads the first document of a YAML text as the JSON that the kubelet makes of it: YAML 1.1 scalars, merge keys in the
 * order written, the last of repeated keys, scalars as keys. Anchors are limited as in the kubelet.
 *
 * sigs.k8s.io/yaml: YAMLToJSON
 */
export function readYaml(text: string, budget: ReadingBudget): ManifestContent {
  return composeYaml(text, budget);
}

/** Hint for a text that cannot be read: a better guess from the text if there is one, else the reader's hint. */
export function syntaxHint(text: string, { hint, start }: ManifestSyntaxError): string | undefined {
  if (/^(?:<{7} |={7}$|>{7} )/m.test(text)) return 'Remove the marks of a merge conflict.';
  return (
    templateHint(lineAround(text, start)) ??
    templateHint(/^[ \t]*\{\{/m.exec(text)?.[0] ?? '') ??
    quoteHint(text, start) ??
    hint ??
    (/[@`%*!&]/.test(text.charAt(start)) ? 'Put the whole value in quotes.' : undefined)
  );
}

/** Hint for a text that continues after a quote, because a quote inside it was not escaped as YAML does. */
function quoteHint(text: string, start: number): string | undefined {
  if (!/\w/.test(text.charAt(start))) return undefined;
  const quote = text.charAt(start - 1);
  if (quote === "'") return "Inside single quotes write '' for a quote.";
  return quote === '"' ? 'Inside double quotes write \\" for a quote.' : undefined;
}

function lineAround(text: string, offset: number): string {
  const end = text.indexOf('\n', offset);
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, end < 0 ? undefined : end);
}

/** Offsets of one document of a YAML text, including the directives and the `---` that begin it. */
export interface DocumentRange {
  start: number;
  end: number;
}

/**
 * Splits a YAML text into documents. Leaves out a document without content, even with a `---` or comments. A `---` or
 * `...` at the start of a line is always a document marker: YAML allows none inside quotes, brackets and block scalars.
 */
export function* splitDocuments(text: string): Generator<DocumentRange> {
  let start = 0;
  for (const { 0: marker, index } of text.matchAll(markerPattern)) {
    // Comments and directives above the marker belong to the next document.
    if (marker === '---' && !hasContent(text.slice(start, index))) continue;
    if (hasContent(text.slice(start, index))) yield { start, end: index };
    start = marker === '---' ? index : index + marker.length;
  }
  if (hasContent(text.slice(start))) yield { start, end: text.length };
}

const markerPattern = /(?<=^|[\n\r])(?:---|\.\.\.)(?=[ \t\n\r]|$)/g;

/** True if the text has more than blank lines, comments and directives. */
function hasContent(text: string): boolean {
  return /^(?!%)[ \t]*[^# \t\n\r]/m.test(text);
}
