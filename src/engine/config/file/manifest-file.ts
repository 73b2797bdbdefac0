import type { Stats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import { errorMessage, hasCode } from '../../../errors.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { readRegularFile } from '../../host/regular-file.ts';
import { loadManifest } from '../load-manifest.ts';
import { ownershipProblems } from './manifest-paths.ts';

/** The decoded content of a manifest file, or the problem that prevents reading it. */
export interface Revision extends Manifests {
  /** Differs whenever the content may differ. */
  fingerprint: string;
  /** Undefined if the file cannot be read. */
  bytes?: Uint8Array;
}

/** A regular file, before it is read. */
export interface Seen {
  fingerprint: string;
  stats: Stats;
}

/** Returns a problem as a Revision if the path cannot be read, undefined if it does not exist. Never rejects. */
export async function seeManifest(path: string): Promise<Seen | Revision | undefined> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) {
      const hint = 'Only regular files and links to them are read as manifests.';
      return refused(path, { message: 'is not a regular file', hint });
    }
    if (stats.size > maxManifestBytes) {
      const size = Math.ceil(stats.size / 1024 / 1024);
      return refused(path, { message: `is too large (${size} MiB)`, hint: 'A manifest may have 10 MiB.' });
    }
    const { dev, ino, size, mtimeMs, ctimeMs } = stats;
    return { fingerprint: [dev, ino, size, mtimeMs, ctimeMs].join(':'), stats };
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) return refused(path, { message: errorMessage(error) });
    if (!(await isLink(path))) return undefined;
    return refused(path, {
      message: 'is a link to nothing',
      hint: 'Restore the target of the link, or remove the link.',
    });
  }
}

/** Reads and decodes a manifest file. Returns undefined if it changed since it was seen. Never rejects. */
export async function readManifest(path: string, seen: Seen, node: StaticPodNode): Promise<Revision | undefined> {
  const { fingerprint, stats } = seen;
  try {
    const bytes = await readRegularFile(path, maxManifestBytes, { followLinks: true });
    if ((await seeManifest(path))?.fingerprint !== fingerprint) return undefined;
    const { problems, ...declared } = loadManifest(bytes, path, node);
    return { fingerprint, bytes, ...declared, problems: [...ownershipProblems(path, stats), ...problems] };
  } catch (error) {
    return hasCode(error, 'ENOENT') ? undefined : refused(path, { message: errorMessage(error) });
  }
}

/** True for a symbolic link, broken ones included. */
export async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}

/** The fingerprint is the reason, so the same refusal is not news. */
function refused(path: string, problem: Pick<ManifestProblem, 'message' | 'hint'>): Revision {
  const problems: ManifestProblem[] = [{ origin: path, severity: 'error', ...problem }];
  return { fingerprint: `refused: ${problem.message}`, pods: [], configObjects: [], problems };
}
