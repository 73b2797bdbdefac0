import { type ManifestEntry, type ManifestNode, type ManifestNote, ManifestSyntaxError } from './manifest-node.ts';
import { LineIndex } from './line-index.ts';
import type { ManifestProblem } from './manifest-problem.ts';
import { readJson } from './read-json.ts';
import { readYaml } from './read-yaml.ts';

/** A manifest larger than this is refused unread. The largest pod an API server takes is far smaller. */
export const maxManifestBytes = 10 * 1024 * 1024;

/** A manifest that was read but not yet understood: its values, and where they stand. */
export class ManifestDocument {
  readonly origin: string;
  readonly root: ManifestNode;
  readonly notes: readonly ManifestNote[];
  readonly #lines: LineIndex;

  /** Throws a ManifestSyntaxError for what is neither JSON nor YAML. */
  constructor(origin: string, text: string, isYaml: boolean) {
    this.origin = origin;
    this.#lines = new LineIndex(text);
    const { root, notes } = isYaml ? readYaml(text) : { root: readJson(text), notes: [] };
    this.root = root;
    this.notes = notes;
  }

  /** Line and column, from 1, of a field path; of its nearest ancestor when the manifest does not have the field. */
  positionOf(fieldPath: string): { line: number; column: number } {
    let node = this.root;
    let start = node.start;
    for (const [, key, index] of fieldPath.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)) {
      const child = childOf(node, key ?? index ?? '');
      if (!child) break;
      node = child.value;
      start = node.kind === 'object' || node.kind === 'list' ? child.keyStart : node.start;
    }
    return this.#lines.positionAt(start);
  }

  positionAt(start: number): { line: number; column: number } {
    return this.#lines.positionAt(start);
  }
}

/** Reads the bytes of a manifest as the kubelet does: what starts with `{` is JSON, everything else YAML. */
export function readManifest(
  bytes: Uint8Array | string,
  origin: string,
): { document: ManifestDocument } | { problem: ManifestProblem } {
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
  const text = typeof bytes === 'string' ? bytes : decodeText(bytes);
  const isYaml = !/^\s*\{/u.test(text);
  const body = text.startsWith(byteOrderMark) ? text.slice(1) : text;
  try {
    if (isYaml && typeof bytes !== 'string') refuseInvalidUtf8(bytes, body);
    return { document: new ManifestDocument(origin, body, isYaml) };
  } catch (error) {
    if (!(error instanceof ManifestSyntaxError)) throw error;
    return {
      problem: {
        origin,
        ...new LineIndex(body).positionAt(error.start),
        message: error.message,
        ...(error.hint === undefined ? {} : { hint: error.hint }),
        severity: 'error',
      },
    };
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
function refuseInvalidUtf8(bytes: Uint8Array, text: string): void {
  if (utf16Encoding(bytes)) return;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // The decoder does not say where; its stand-in character does.
    const start = Math.max(0, text.indexOf('\uFFFD'));
    throw new ManifestSyntaxError('The manifest is not valid UTF-8', start, 'Save the file as UTF-8.');
  }
}

function childOf(node: ManifestNode, step: string): Pick<ManifestEntry, 'keyStart' | 'value'> | undefined {
  if (node.kind === 'object') return node.entries.findLast((entry) => entry.key === step);
  const item = node.kind === 'list' && /^[0-9]+$/.test(step) ? node.items[Number(step)] : undefined;
  return item && { keyStart: item.start, value: item };
}
