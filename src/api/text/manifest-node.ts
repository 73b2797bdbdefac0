import { excerpt } from './manifest-problem.ts';

/**
 * A JSON value with its position in the manifest's text. The JSON reader and the YAML reader both return this form, so
 * decoding and positions work the same for both.
 */
export type ManifestNode = {
  /** Offset of the value in the text. */
  start: number;
} & (
  | { kind: 'null' }
  | { kind: 'bool'; value: boolean }
  /** Numbers stay text: whether `80.0` is an integer depends on the field it is for. */
  | { kind: 'number'; text: string }
  | { kind: 'string'; value: string }
  | { kind: 'list'; items: ManifestNode[] }
  | { kind: 'object'; entries: ManifestEntry[] }
);

/** One member of an object. A key may occur twice in JSON. */
export interface ManifestEntry {
  key: string;
  keyStart: number;
  value: ManifestNode;
}

/** The value as plain JSON. `numberOf` reads the text of a number. */
export function plainValue(node: ManifestNode, numberOf: (text: string) => unknown = Number): unknown {
  switch (node.kind) {
    case 'null':
      return null;
    case 'bool':
    case 'string':
      return node.value;
    case 'number':
      return numberOf(node.text);
    case 'list':
      return node.items.map((item) => plainValue(item, numberOf));
    case 'object':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainValue(value, numberOf)]));
  }
}

/** The text is not valid JSON or YAML. */
export class ManifestSyntaxError extends Error {
  override readonly name = 'ManifestSyntaxError';
  /** Offset in the text. */
  readonly start: number;
  readonly hint: string | undefined;

  constructor(message: string, start: number, hint?: string) {
    super(message);
    this.start = start;
    this.hint = hint;
  }
}

/** The text exceeds a limit; reading more of it would cost too much. */
export class ManifestLimitError extends ManifestSyntaxError {}

/** A reader's remark about a position in the text. */
export interface ReaderWarning {
  start: number;
  message: string;
  hint: string;
}

/** The values of one document, and the reader's remarks. */
export interface ManifestContent {
  root: ManifestNode;
  warnings: ReaderWarning[];
}

/** Deeper nesting is refused. No pod needs it, and the limit bounds recursion. */
export const maxNestingDepth = 500;

/** Number of notes that are kept. */
const maxWarnings = 50;

/** Adds a note about a repeated key at an offset, up to `maxNotes` notes. */
export function warnOfRepeatedKey(warnings: ReaderWarning[], key: string, start: number): void {
  if (warnings.length >= maxWarnings) return;
  warnings.push({
    start,
    message: `Key "${excerpt(key)}" is written more than once; the last one counts`,
    hint: 'Remove the others.',
  });
}
