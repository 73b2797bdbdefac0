import { LineIndex } from '../text/line-index.ts';
import {
  type ManifestContent,
  type ManifestEntry,
  type ManifestNode,
  type ReaderWarning,
  ManifestSyntaxError,
} from '../text/manifest-node.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { readJson } from '../text/read-json.ts';
import { type DocumentRange, readYaml, splitDocuments, syntaxHint } from '../text/read-yaml.ts';
import { limitHint, maxBrokenDocuments, maxManifestLines, ReadingBudget } from '../text/reading-budget.ts';

/** Larger manifests are refused unread. The largest pod that an API server accepts is far smaller. */
export const maxManifestBytes = 10 * 1024 * 1024;

/** A manifest that was parsed but not decoded yet: its values and their positions. */
export class ManifestDocument {
  readonly root: ManifestNode;
  readonly warnings: readonly ReaderWarning[];
  private readonly lines: LineIndex;
  /** Offset of this document in the text that `lines` counts. */
  private readonly base: number;
  /** Members of large objects by key. Filled on first use. */
  private readonly members = new Map<ManifestNode, ReadonlyMap<string, ManifestEntry>>();

  /** `place.base` is the offset of the content in the text that `place.lines` counts. */
  constructor(
    readonly origin: string,
    { root, warnings }: ManifestContent,
    place: { lines: LineIndex; base: number },
  ) {
    this.lines = place.lines;
    this.base = place.base;
    this.root = root;
    this.warnings = warnings;
  }

  /** Line and column, from 1, of a field path. Uses its nearest ancestor if the manifest lacks the field. */
  positionOf(fieldPath: string): { line: number; column: number } {
    return this.positionAt(this.find(fieldPath).start);
  }

  /** True if the manifest has the field. */
  has(fieldPath: string): boolean {
    return this.find(fieldPath).isThere;
  }

  private find(fieldPath: string): { start: number; isThere: boolean } {
    let node = this.root;
    let start = node.start;
    for (const [, key, index] of fieldPath.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)) {
      const child = this.childOf(node, key ?? index ?? '');
      if (!child) return { start, isThere: false };
      node = child.value;
      const isScalar = node.kind !== 'object' && node.kind !== 'list' && node.kind !== 'null';
      start = isScalar ? node.start : child.keyStart;
    }
    return { start, isThere: true };
  }

  private childOf(node: ManifestNode, step: string): Pick<ManifestEntry, 'keyStart' | 'value'> | undefined {
    if (node.kind === 'object') return this.memberOf(node, node.entries, step);
    const item = node.kind === 'list' && /^[0-9]+$/.test(step) ? node.items[Number(step)] : undefined;
    return item && { keyStart: item.start, value: item };
  }

  /** The last member with this key. Indexed, because very many problems can concern the members of one object. */
  private memberOf(node: ManifestNode, entries: readonly ManifestEntry[], key: string): ManifestEntry | undefined {
    if (entries.length < 32) return entries.findLast((entry) => entry.key === key);
    let members = this.members.get(node);
    if (!members) {
      members = new Map(entries.map((entry) => [entry.key, entry]));
      this.members.set(node, members);
    }
    return members.get(key);
  }

  positionAt(start: number): { line: number; column: number } {
    return this.lines.positionAt(this.base + start);
  }
}

/** A document, or the problem that made it unreadable. */
export type DocumentReading = { document: ManifestDocument } | { problem: ManifestProblem };

/**
 * Reads the bytes of a manifest as the kubelet does. A text that starts with `{` is JSON. Any other text is YAML, and
 * only its first document counts.
 */
export function readManifest(bytes: Uint8Array | string, origin: string): DocumentReading {
  const reading = readText(bytes, origin);
  if ('problem' in reading) return reading;
  return new ManifestText(origin, reading).read({ start: 0, end: reading.text.length });
}

/**
 * Reads all documents of a manifest: the one value of a JSON text, or every YAML document that is not empty. A document
 * that cannot be read yields its problem. Reading stops at the first limit exceeded. Positions refer to the whole text.
 */
export function* readManifests(bytes: Uint8Array | string, origin: string): Generator<DocumentReading> {
  const reading = readText(bytes, origin);
  if ('problem' in reading) {
    yield reading;
    return;
  }
  const manifest = new ManifestText(origin, reading);
  let broken = 0;
  const whole = { start: 0, end: reading.text.length };
  for (const range of reading.isYaml ? splitDocuments(reading.text) : [whole]) {
    const document = manifest.read(range);
    yield document;
    if (manifest.isExhausted) return;
    if ('problem' in document && ++broken === maxBrokenDocuments) {
      const message = `${maxBrokenDocuments} documents cannot be read; later ones are left out`;
      yield { problem: { origin, message, severity: 'error' } };
      return;
    }
  }
}

interface DecodedText {
  text: string;
  isYaml: boolean;
}

function readText(bytes: Uint8Array | string, origin: string): DecodedText | { problem: ManifestProblem } {
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
  const { text, isValid } = decodeText(bytes);
  const isYaml = !/^\s*\{/.test(text);
  if (isYaml && hasTooManyLines(text)) {
    const message = `The manifest has more than ${maxManifestLines} lines`;
    return { problem: { origin, message, hint: limitHint, severity: 'error' } };
  }
  // In JSON the kubelet replaces invalid UTF-8 by U+FFFD.
  if (!isYaml || isValid) return { text, isYaml };
  // The decoder does not report the position; its replacement character shows it.
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

/** Reads the documents of a text one by one, within one budget. */
class ManifestText {
  private readonly lines: LineIndex;
  private readonly budget = new ReadingBudget();

  constructor(
    private readonly origin: string,
    private readonly decoded: DecodedText,
  ) {
    this.lines = new LineIndex(decoded.text);
  }

  get isExhausted(): boolean {
    return this.budget.isExhausted;
  }

  read({ start, end }: DocumentRange): DocumentReading {
    const { text, isYaml } = this.decoded;
    const part = text.slice(start, end);
    const place = { lines: this.lines, base: start };
    try {
      const content = isYaml ? readYaml(part, this.budget) : readJson(part, this.budget);
      return { document: new ManifestDocument(this.origin, content, place) };
    } catch (error) {
      if (!(error instanceof ManifestSyntaxError)) throw error;
      const { line, column } = this.lines.positionAt(start + error.start);
      const hint = syntaxHint(part, error);
      const { message } = error;
      const origin = this.origin;
      return { problem: { origin, line, column, message, ...(hint !== undefined && { hint }), severity: 'error' } };
    }
  }
}

function hasTooManyLines(text: string): boolean {
  if (text.length <= maxManifestLines) return false;
  const lineBreak = /[\n\r\u0085]/g;
  let lines = 0;
  while (lineBreak.test(text)) if (++lines > maxManifestLines) return true;
  return false;
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true });

/** Decodes UTF-8, or UTF-16 if a byte order mark says so. Drops the mark. */
function decodeText(bytes: Uint8Array | string): { text: string; isValid: boolean } {
  if (typeof bytes === 'string') return { text: bytes.replace(/^\uFEFF/, ''), isValid: true };
  const utf16 = utf16Encoding(bytes);
  if (utf16 !== undefined) return { text: new TextDecoder(utf16).decode(bytes), isValid: true };
  try {
    return { text: strictDecoder.decode(bytes), isValid: true };
  } catch {
    // The strict decoder throws for invalid UTF-8 only.
    return { text: new TextDecoder().decode(bytes), isValid: false };
  }
}

function utf16Encoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}
