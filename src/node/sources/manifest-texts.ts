import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { ignoredBecause } from '../../engine/config/file/manifest-paths.ts';
import { readRegularFile } from '../../files/regular-file.ts';

/** The origin of a manifest from stdin. */
export const stdinOrigin = '<stdin>';

/** A manifest as written. */
export interface ManifestText {
  origin: string;
  bytes: Uint8Array;
}

/** Reads the texts of files, of the manifests in folders, and of stdin for `-`. Rejects with file system errors. */
export async function manifestTexts(paths: readonly string[], stdin: Uint8Array | undefined): Promise<ManifestText[]> {
  const texts: ManifestText[] = [];
  for (const path of new Set(paths)) {
    if (path === '-') texts.push({ origin: stdinOrigin, bytes: stdin ?? new Uint8Array() });
    else for (const file of await manifestFiles(resolve(path))) texts.push(await readText(file));
  }
  return texts;
}

async function manifestFiles(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => join(path, name));
  return files.filter((file) => ignoredBecause(file) === undefined).sort();
}

async function readText(origin: string): Promise<ManifestText> {
  return { origin, bytes: await readRegularFile(origin, maxManifestBytes, { followLinks: true }) };
}
