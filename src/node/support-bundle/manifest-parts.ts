import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readManifests } from '../../api/decoding/manifest-document.ts';
import { plainValue } from '../../api/text/manifest-node.ts';
import { readLastGood } from '../../engine/config/last-good/last-good-manifests.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import type { Part } from './redact.ts';

/** Limits on the files of one folder, and on the bytes of one file. */
const maxFiles = 500;
const maxFileBytes = 1024 * 1024;

/** The manifests of these files and folders as JSON. Without unreadable documents. */
export async function manifestParts(paths: readonly string[]): Promise<Part[]> {
  const files = (await Promise.all(paths.map(filesAt))).flat().slice(0, maxFiles);
  return Promise.all(files.map(readPart));
}

async function filesAt(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => /\.(?:ya?ml|json)$/.test(name));
    return names.sort().map((name) => join(path, name));
  } catch {
    // Missing or hidden: the doctor reports it.
    return [];
  }
}

async function readPart(path: string): Promise<Part> {
  const name = `manifests${path}.json`;
  try {
    const bytes = await readRegularFile(path, maxFileBytes, { followLinks: true });
    return { name, content: { json: documentsOf(bytes, path) } };
  } catch (error) {
    return { name, content: { json: { leftOut: error instanceof Error ? error.message : String(error) } } };
  }
}

/** The last good manifests of every source, as `manifestParts`. */
export async function lastGoodParts(rootDir: string): Promise<Part[]> {
  const kept = (await readLastGood(rootDir)).slice(0, maxFiles);
  return kept.map(({ source, where, body, savedAt }, index) => ({
    name: `manifests-last-good/${String(index).padStart(3, '0')}.json`,
    content: { json: { source, where, savedAt, documents: documentsOf(body, where) } },
  }));
}

/** Quotes nothing from an unreadable document, because it could be a secret. */
function documentsOf(bytes: Uint8Array, origin: string): unknown[] {
  return [...readManifests(bytes, origin)].map((reading) =>
    'document' in reading
      ? plainValue(reading.document.root, numberOf)
      : { leftOut: 'this document cannot be read', line: reading.problem.line },
  );
}

/** Only small integers become numbers. The others stay strings, as written. */
const numberOf = (text: string): number | string => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
