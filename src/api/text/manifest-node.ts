import { excerpt } from './manifest-problem.ts';

/**
 * A manifest's text as JSON values that know where they stand. Both readers (JSON and YAML) make these, so that decoding
 * and positions work alike for both.
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

/** One member of an object. A key may come twice in JSON. */
export interface ManifestEntry {
  key: string;
  keyStart: number;
  value: ManifestNode;
}

/** The text is no JSON or no YAML. */
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

/** A word is wrong in itself: no indentation would mend it. */
export class ManifestWordError extends ManifestSyntaxError {}

/** Reading on would cost more than any manifest is worth. */
export class ManifestLimitError extends ManifestSyntaxError {}

/** What a reader has to say besides the values. */
export interface ManifestNote {
  start: number;
  message: string;
  hint: string;
}

/** The values of one document, and what there is to say about them. */
export interface ManifestContent {
  root: ManifestNode;
  notes: ManifestNote[];
}

/** Deeper nesting than this is refused: no pod needs it, and recursion stays bounded. */
export const maxNestingDepth = 500;

/** More notes than this help nobody. */
const maxNotes = 50;

/** Notes that a key of an object is written again at an offset, unless there are very many notes already. */
export function noteRepeatedKey(notes: ManifestNote[], key: string, start: number): void {
  if (notes.length >= maxNotes) return;
  notes.push({
    start,
    message: `Key "${excerpt(key)}" is written more than once; the last one counts`,
    hint: 'Remove the others.',
  });
}
