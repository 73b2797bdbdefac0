import type { Stats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import { errorMessage, hasCode } from '../../../errors.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { openRegularFile } from '../../host/regular-file.ts';
import { loadManifest } from '../load-manifest.ts';
import { ownershipProblems } from './ownership-problems.ts';

/** What a manifest file says, or why it cannot be read. */
export interface Revision extends Manifests {
  /** Changes whenever the content may have changed. */
  fingerprint: string;
  /** Undefined: there was nothing to read. */
  bytes?: Uint8Array;
}

/** A manifest is the same as long as none of these changed. */
export function fingerprintOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(':');
}

/** What there is to read at a path; undefined: nothing at all. Never rejects. */
export async function statManifest(path: string): Promise<Stats | Revision | undefined> {
  try {
    const stats = await stat(path);
    return refusalOf(path, stats) ?? stats;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) return refused(path, { message: errorMessage(error) });
    if (!(await isLink(path))) return undefined;
    return refused(path, { message: 'is a link to nothing', hint: 'Restore what it leads to, or remove the link.' });
  }
}

/** Reads and decodes a manifest file; undefined when it changed since it was looked at. Never rejects. */
export async function readManifest(path: string, seen: Stats, node: StaticPodNode): Promise<Revision | undefined> {
  const fingerprint = fingerprintOf(seen);
  try {
    const bytes = await readUnchanged(path, seen);
    if (bytes === undefined) return undefined;
    const { problems, ...declared } = loadManifest(bytes, path, node);
    return { fingerprint, bytes, ...declared, problems: [...ownershipProblems(path, seen), ...problems] };
  } catch (error) {
    return hasCode(error, 'ENOENT') ? undefined : refused(path, { message: errorMessage(error) });
  }
}

async function readUnchanged(path: string, seen: Stats): Promise<Uint8Array | undefined> {
  const file = await openRegularFile(path, { followLinks: true });
  try {
    if (fingerprintOf(await file.stat()) !== fingerprintOf(seen)) return undefined;
    const bytes = Buffer.alloc(seen.size);
    for (let length = 0; length < seen.size;) {
      const { bytesRead } = await file.read(bytes, length, seen.size - length, length);
      if (bytesRead === 0) return undefined;
      length += bytesRead;
    }
    return fingerprintOf(await file.stat()) === fingerprintOf(seen) ? bytes : undefined;
  } finally {
    await file.close();
  }
}

function refusalOf(path: string, stats: Stats): Revision | undefined {
  if (!stats.isFile()) {
    const hint = 'Only regular files and links to them are read as manifests.';
    return refused(path, { message: 'is not a regular file', hint });
  }
  if (stats.size <= maxManifestBytes) return undefined;
  const size = Math.ceil(stats.size / 1024 / 1024);
  return refused(path, { message: `is too large (${size} MiB)`, hint: 'A manifest may have 10 MiB.' });
}

/** It is the same as long as it is refused for the same reason. */
function refused(path: string, problem: Pick<ManifestProblem, 'message' | 'hint'>): Revision {
  const problems: ManifestProblem[] = [{ origin: path, severity: 'error', ...problem }];
  return { fingerprint: `refused: ${problem.message}`, pods: [], configObjects: [], problems };
}

/** False for what has gone, too. */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}
