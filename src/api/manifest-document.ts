import { type ManifestEntry, type ManifestNode, type ManifestNote, ManifestSyntaxError } from './manifest-node.ts';
import { LineIndex } from './line-index.ts';
import type { ManifestProblem } from './manifest-problem.ts';
import { readJson } from './read-json.ts';
import { readYaml } from './read-yaml.ts';
import { type DocumentRange, splitDocuments } from './split-documents.ts';
import { syntaxHint } from './syntax-hint.ts';

/** A manifest larger than this is refused unread. The largest pod an API server takes is far smaller. */
export const maxManifestBytes = 10 * 1024 * 1024;

/** A manifest that was read but not yet understood: its values, and where they stand. */
export class ManifestDocument {
  readonly origin: string;
  readonly root: ManifestNode;
  readonly notes: readonly ManifestNote[];
  readonly #lines: LineIndex;
  /** Where this document begins in the text that the lines are counted in. */
  readonly #base: number;

  /** Throws a ManifestSyntaxError for what is neither JSON nor YAML. The text stands at `base` among those lines. */
  constructor(origin: string, text: string, isYaml: boolean, place: { lines: LineIndex; base: number }) {
    this.origin = origin;
    this.#lines = place.lines;
    this.#base = place.base;
    const { root, notes } = isYaml ? readYaml(text) : { root: readJson(text), notes: [] };
    this.root = root;
    this.notes = notes;
  }

  /** Line and column, from 1, of a field path; of its nearest ancestor when the manifest does not have the field. */
  positionOf(fieldPath: string): { line: number; column: number } {
    return this.positionAt(this.#find(fieldPath).start);
  }

  /** Whether the manifest has the field. */
  has(fieldPath: string): boolean {
    return this.#find(fieldPath).isThere;
  }

  #find(fieldPath: string): { start: number; isThere: boolean } {
    let node = this.root;
    let start = node.start;
    for (const [, key, index] of fieldPath.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)) {
      const child = childOf(node, key ?? index ?? '');
      if (!child) return { start, isThere: false };
      node = child.value;
      start = node.kind === 'object' || node.kind === 'list' ? child.keyStart : node.start;
    }
    return { start, isThere: true };
  }

  positionAt(start: number): { line: number; column: number } {
    return this.#lines.positionAt(this.#base + start);
  }
}

/** A document, or why it could not be read. */
export type DocumentReading = { document: ManifestDocument } | { problem: ManifestProblem };

/** Reads the bytes of a manifest as the kubelet does: what starts with `{` is JSON, of everything else the first YAML document. */
export function readManifest(bytes: Uint8Array | string, origin: string): DocumentReading {
  const reading = readText(bytes, origin);
  if ('problem' in reading) return reading;
  return readDocument(origin, reading, { start: 0, end: reading.text.length }, new LineIndex(reading.text));
}

/**
 * Reads all documents of a manifest: the one value of a JSON text, or every YAML document with anything in it. What cannot
 * be read leaves a problem in its place. Positions are those of the whole text.
 */
export function readManifests(bytes: Uint8Array | string, origin: string): DocumentReading[] {
  const reading = readText(bytes, origin);
  if ('problem' in reading) return [reading];
  const { text, isYaml } = reading;
  const lines = new LineIndex(text);
  const ranges = isYaml ? splitDocuments(text) : [{ start: 0, end: text.length }];
  return ranges.map((range) => readDocument(origin, reading, range, lines));
}

interface ManifestText {
  text: string;
  isYaml: boolean;
}

function readText(bytes: Uint8Array | string, origin: string): ManifestText | { problem: ManifestProblem } {
  if (bytes.length > maxManifestBytes) {
    return {
      problem: {
        origin,
        message: `The manifest is larger than ${maxManifestBytes / 1024 / 1024} MiB`,
        hint: 'Is this a manifest? Move other files out of the manifest directory.',
        severity: 'error',
      },
    };
  }
  const decoded = typeof bytes === 'string' ? bytes : decodeText(bytes);
  const isYaml = !/^\s*\{/u.test(decoded);
  const text = decoded.startsWith(byteOrderMark) ? decoded.slice(1) : decoded;
  if (!isYaml || typeof bytes === 'string' || isValidUtf8(bytes)) return { text, isYaml };
  // The decoder does not say where; its stand-in character does.
  const start = Math.max(0, text.indexOf('\uFFFD'));
  return {
    problem: {
      origin,
      ...new LineIndex(text).positionAt(start),
      message: 'The manifest is not valid UTF-8',
      hint: 'Save the file as UTF-8.',
      severity: 'error',
    },
  };
}

function readDocument(
  origin: string,
  { text, isYaml }: ManifestText,
  { start, end }: DocumentRange,
  lines: LineIndex,
): DocumentReading {
  const part = text.slice(start, end);
  try {
    return { document: new ManifestDocument(origin, part, isYaml, { lines, base: start }) };
  } catch (error) {
    if (!(error instanceof ManifestSyntaxError)) throw error;
    const place = lines.positionAt(start + error.start);
    const hint = syntaxHint(part, error);
    const { message } = error;
    return { problem: { origin, ...place, message, ...(hint !== undefined && { hint }), severity: 'error' } };
  }
}

const byteOrderMark = '\uFEFF';

/** UTF-8, or UTF-16 when a byte order mark says so. */
function decodeText(bytes: Uint8Array): string {
  return new TextDecoder(utf16Encoding(bytes) ?? 'utf-8', { ignoreBOM: true }).decode(bytes);
}

function utf16Encoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}

/** YAML must be valid UTF-8; in JSON the kubelet reads U+FFFD for what is not. */
function isValidUtf8(bytes: Uint8Array): boolean {
  if (utf16Encoding(bytes)) return true;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    // The only thing that can go wrong is what is asked about.
    return false;
  }
}

function childOf(node: ManifestNode, step: string): Pick<ManifestEntry, 'keyStart' | 'value'> | undefined {
  if (node.kind === 'object') return node.entries.findLast((entry) => entry.key === step);
  const item = node.kind === 'list' && /^[0-9]+$/.test(step) ? node.items[Number(step)] : undefined;
  return item && { keyStart: item.start, value: item };
}
