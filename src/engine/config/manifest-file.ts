import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { loadPod } from '../../api/load-pod.ts';
import { maxManifestBytes } from '../../api/manifest-document.ts';
import type { Pod } from '../../api/types.ts';
import { errorMessage } from '../../errors.ts';
import type { ManifestProblem } from '../events.ts';

/** What a manifest file said when it was read. */
export interface ManifestRead {
  /** Changes whenever the content may have changed. */
  fingerprint: string;
  /** Undefined: there was nothing to read. */
  bytes?: Uint8Array;
  pod: Pod | undefined;
  problems: ManifestProblem[];
}

/** Hash of pod UIDs: 32 hex digits, as long as the kubelet's own. */
export function podUIDHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** A manifest is the same as long as none of these changed. */
export function fingerprintOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(':');
}

/**
 * Reads and decodes one manifest file. Everything that is wrong comes back as problems. Rejects only with ENOENT, when the
 * file is gone.
 */
export async function readManifestFile(path: string, nodeName: string): Promise<ManifestRead> {
  const stats = await stat(path);
  const refused = refusedBecause(stats);
  if (refused !== undefined) {
    const problem: ManifestProblem = { origin: path, severity: 'error', ...refused };
    return { fingerprint: fingerprintOf(stats), pod: undefined, problems: [problem] };
  }
  // Should it have become a named pipe: without O_NONBLOCK that would be waited for until somebody writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const fingerprint = fingerprintOf(await file.stat());
    const bytes = await file.readFile();
    return { fingerprint, bytes, ...loadManifest(bytes, path, nodeName) };
  } catch (error) {
    const problem: ManifestProblem = { origin: path, severity: 'error', message: errorMessage(error) };
    return { fingerprint: '', pod: undefined, problems: [problem] };
  } finally {
    await file.close();
  }
}

/** What the bytes of a file declare. */
export function loadManifest(
  bytes: Uint8Array,
  path: string,
  nodeName: string,
): Pick<ManifestRead, 'pod' | 'problems'> {
  const { pod, problems } = loadPod(bytes, { origin: path, nodeName, source: 'file', hash: podUIDHash });
  return { pod, problems };
}

function refusedBecause(stats: Stats): { message: string; hint: string } | undefined {
  if (!stats.isFile()) {
    return { message: 'is not a regular file', hint: 'Only regular files and links to them are read as manifests.' };
  }
  if (stats.size > maxManifestBytes) {
    const hint = 'A manifest may have 10 MiB.';
    return { message: `is too large (${Math.ceil(stats.size / 1024 / 1024)} MiB)`, hint };
  }
  return undefined;
}
