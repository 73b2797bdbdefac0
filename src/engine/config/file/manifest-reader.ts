import type { Stats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode } from '../../../errors.ts';
import { HungPathError, type PathGuard } from '../../host/path-guard.ts';
import { readRegularFile } from '../../../files/regular-file.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { loadManifest } from '../load-manifest.ts';
import { ownershipProblems } from './manifest-paths.ts';

/**
 * How a file changed since the last check. `written`: in place. `entry`: its name was added, removed, or now leads to
 * another file.
 */
export type FileChange = 'written' | 'entry' | undefined;

export interface ReadRequest {
  path: string;
  /** The path on whose file system the file is: the file itself or its folder. */
  guardPath: string;
  /** Fingerprint of the known revision; undefined for a new file. */
  known: string | undefined;
  change: FileChange;
}

/** The decoded content of a manifest file, or the problem that prevents reading it. */
export interface Revision extends Manifests {
  /** Differs whenever the content may differ. */
  fingerprint: string;
  /** Undefined if the file cannot be read. */
  bytes?: Uint8Array;
}

export type Found =
  /** The path does not exist. */
  | { is: 'missing' }
  /** The known revision is still current. */
  | { is: 'unchanged' }
  /** Its file system does not answer. */
  | { is: 'hung' }
  /** The file may be being written: check again after this time. `isLong`: it has been for over a second. */
  | { is: 'in writing'; againInMs: number; isLong: boolean }
  | { is: 'read'; revision: Revision };

/** A regular file, before it is read. */
interface UnreadFile {
  fingerprint: string;
  stats: Stats;
}

interface Deps extends StaticPodNode {
  guard: PathGuard;
  clock: Clock;
}

/** State of a file that may be being written, at its last check. All times are monotonic. */
interface Unsettled {
  fingerprint: string;
  sinceMs: number;
  /** The content counts from this time on, unless the file changes before. */
  quietAtMs: number;
}

/** A file written in place is read after this time without changes. */
const quietMs = 100;
/** A file that the watch reported as new and empty is probably open for writing. */
const emptyMs = 10_000;
/** A missing file is removed after this time, because some programs remove a file before they write it again. */
const missingMs = 10;
/** A file that takes longer to write is checked once a second, and nothing waits for it. */
const longMs = 1000;
/** A file with an older last write counts as finished, unless the watch just reported a write. */
const writtenLongAgoMs = 60_000;

/**
 * Reads manifest files, and avoids half-written ones.
 *
 * INVARIANTS: a file renamed into place is read at once. A file written in place is read once it stayed unchanged for
 * 100 ms. A known file counts as missing after 10 ms.
 */
export class ManifestReader {
  private readonly unsettled = new Map<string, Unsettled>();

  constructor(private readonly deps: Deps) {}

  /** Checks each of these paths, one after the other. The results have the order of the requests. */
  async read(requests: readonly ReadRequest[]): Promise<Map<string, Found>> {
    const found = new Map<string, Found>();
    for (const request of requests) {
      const one = await this.unlessHung(request.guardPath, () => this.readOne(request));
      if (one.is === 'unchanged' || one.is === 'read') this.unsettled.delete(request.path);
      found.set(request.path, one);
    }
    return found;
  }

  /** Drops the state of a removed file. */
  drop(path: string): void {
    this.unsettled.delete(path);
  }

  private unlessHung(guardPath: string, work: () => Promise<Found>): Promise<Found> {
    return this.deps.guard.run(guardPath, work).catch((error: unknown) => {
      if (error instanceof HungPathError) return { is: 'hung' };
      throw error;
    });
  }

  private async readOne({ path, known, change }: ReadRequest): Promise<Found> {
    const unread = await statManifest(path);
    if (unread?.fingerprint === known) return { is: unread === undefined ? 'missing' : 'unchanged' };
    if (unread !== undefined && 'problems' in unread) return { is: 'read', revision: unread };
    const wait = this.untilQuiet(path, unread, change);
    if (wait !== undefined) return wait;
    if (unread === undefined) return { is: 'missing' };
    const revision = await readManifest(path, unread, this.deps);
    return revision === undefined ? this.unsettle(path, '', quietMs) : { is: 'read', revision };
  }

  /** Returns undefined if the content of the file counts now. */
  private untilQuiet(path: string, unread: UnreadFile | undefined, change: FileChange): Found | undefined {
    const before = this.unsettled.get(path);
    const mayBeRenamed = change === 'entry' || (change === undefined && before === undefined);
    if (unread !== undefined && mayBeRenamed && !seemsInWriting(unread.stats, this.deps.clock.now())) return undefined;
    const fingerprint = unread?.fingerprint ?? 'missing';
    if (before?.fingerprint !== fingerprint) {
      const isNewAndEmpty = unread?.stats.size === 0 && change !== undefined;
      return this.unsettle(path, fingerprint, unread === undefined ? missingMs : isNewAndEmpty ? emptyMs : quietMs);
    }
    return before.quietAtMs > this.deps.clock.monotonic() ? this.inWriting(before) : undefined;
  }

  private unsettle(path: string, fingerprint: string, forMs: number): Found {
    const now = this.deps.clock.monotonic();
    const unsettled = { fingerprint, sinceMs: this.unsettled.get(path)?.sinceMs ?? now, quietAtMs: now + forMs };
    this.unsettled.set(path, unsettled);
    return this.inWriting(unsettled);
  }

  private inWriting({ sinceMs, quietAtMs }: Unsettled): Found {
    const now = this.deps.clock.monotonic();
    const isLong = now - sinceMs >= longMs;
    return { is: 'in writing', againInMs: Math.min(quietAtMs - now, longMs), isLong };
  }
}

/**
 * True if the file may still be written. A write sets mtime and ctime to the same time. A ctime after the mtime means
 * that something followed the last write, such as a rename. An empty file was probably just created.
 */
function seemsInWriting({ size, mtimeMs, ctimeMs }: Stats, now: number): boolean {
  return Math.abs(now - mtimeMs) <= writtenLongAgoMs && (size === 0 || ctimeMs <= mtimeMs);
}

/** Returns a Revision with the problem if the path cannot be read, undefined if it does not exist. Never rejects. */
async function statManifest(path: string): Promise<UnreadFile | Revision | undefined> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) {
      const hint = 'Only regular files and links to them are read as manifests. For a pipe, give - and stdin.';
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
    const hint = 'Restore the target of the link, or remove the link.';
    return refused(path, { message: 'is a broken link', hint });
  }
}

/** Reads and decodes a manifest file. Returns undefined if it changed since it was seen. Never rejects. */
async function readManifest(path: string, unread: UnreadFile, node: StaticPodNode): Promise<Revision | undefined> {
  const { fingerprint, stats } = unread;
  try {
    const bytes = await readRegularFile(path, maxManifestBytes, { followLinks: true });
    if ((await statManifest(path))?.fingerprint !== fingerprint) return undefined;
    const { problems, ...declared } = loadManifest(bytes, path, node);
    return { fingerprint, bytes, ...declared, problems: [...ownershipProblems(path, stats), ...problems] };
  } catch (error) {
    return hasCode(error, 'ENOENT') ? undefined : refused(path, { message: errorMessage(error) });
  }
}

/** True for a symbolic link, broken ones included. */
export async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
}

/** The reason is the fingerprint, so repeating the refusal does not count as a change. */
function refused(path: string, problem: Pick<ManifestProblem, 'message' | 'hint'>): Revision {
  const problems: ManifestProblem[] = [{ origin: path, severity: 'error', ...problem }];
  return { fingerprint: `refused: ${problem.message}`, pods: [], configObjects: [], problems };
}
