import type { Stats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode } from '../../../errors.ts';
import { findWriters, isStillWriting, type Writer } from '../../host/file-writers.ts';
import { HungPathError, type PathGuard } from '../../host/path-guard.ts';
import { readRegularFile } from '../../../files/regular-file.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { loadManifest } from '../load-manifest.ts';
import { ownershipProblems } from './manifest-paths.ts';

/**
 * How a file changed since the last look. `written`: in place. `entry`: its name was added, removed, or now leads to
 * another file.
 */
export type FileChange = 'written' | 'entry' | undefined;

export interface LookRequest {
  path: string;
  /** The path whose file system the file is on: itself, or its folder. */
  place: string;
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
  /** The file is possibly being written: look again after this time. `by`: the process that has it open. */
  | { is: 'in writing'; againInMs: number; by?: Writer }
  | { is: 'read'; revision: Revision };

/** A regular file, before it is read. */
interface Seen {
  fingerprint: string;
  stats: Stats;
}

interface Deps extends StaticPodNode {
  guard: PathGuard;
  clock: Clock;
}

/** State at the last look of a file that is possibly being written. */
interface Unsettled {
  fingerprint: string;
  /** Time of the first look with this fingerprint; monotonic. */
  sinceMs: number;
  change: FileChange;
  writer?: Writer;
  /** Number of looks that found a writer. */
  times: number;
}

/** A file written in place is read after this time without changes. A missing file is removed after it. */
export const settleMs = 10;
/** Longest time between two looks at a file that a process has open. */
const maxWaitMs = 1000;
/** A file with an older last write counts as finished, unless the watch just reported a write. */
const writtenLongAgoMs = 60_000;

/**
 * Reads manifest files, and never returns one that is half-written.
 *
 * INVARIANTS: a file renamed into place is read at once. A file written in place is read once it stayed unchanged for
 * 10 ms. That content counts only if afterwards no process has the file open for writing and the file is unchanged. A
 * known file counts as missing after 10 ms, because some programs remove a file before they write it again.
 */
export class ManifestReader {
  private readonly unsettled = new Map<string, Unsettled>();

  constructor(private readonly deps: Deps) {}

  /** Looks at each of these paths, one after the other. The results have the order of the requests. */
  async look(requests: readonly LookRequest[]): Promise<Map<string, Found>> {
    const found = new Map<string, Found>();
    for (const request of requests)
      found.set(request.path, await this.unlessHung(request.place, () => this.lookAt(request)));
    const doubtful = requests.filter(({ path }) => this.isDoubtful(path, found.get(path)));
    const writers = await this.findWriters(doubtful);
    for (const { path, place } of doubtful)
      found.set(path, await this.unlessHung(place, () => this.confirm(path, found.get(path), writers.get(path))));
    for (const [path, { is }] of found) if (is === 'unchanged' || is === 'read') this.unsettled.delete(path);
    return found;
  }

  /** Drops the state of a removed file. */
  forget(path: string): void {
    this.unsettled.delete(path);
  }

  private unlessHung(place: string, look: () => Promise<Found>): Promise<Found> {
    return this.deps.guard.run(place, look).catch((error: unknown) => {
      if (error instanceof HungPathError) return { is: 'hung' };
      throw error;
    });
  }

  private async findWriters(files: readonly LookRequest[]): Promise<ReadonlyMap<string, Writer>> {
    const found = new Map<string, Writer>();
    for (const place of new Set(files.map((file) => file.place))) {
      const paths = files.filter((file) => file.place === place).map(({ path }) => path);
      const writers = await this.deps.guard
        .run(place, () => findWriters(paths))
        .catch((error: unknown) => {
          if (error instanceof HungPathError) return new Map<string, Writer>();
          throw error;
        });
      for (const [path, writer] of writers) found.set(path, writer);
    }
    return found;
  }

  private async lookAt({ path, known, change }: LookRequest): Promise<Found> {
    const seen = await seeManifest(path);
    if (seen?.fingerprint === known) return { is: seen === undefined ? 'missing' : 'unchanged' };
    if (seen !== undefined && 'problems' in seen) return { is: 'read', revision: seen };
    const wait = await this.untilSettled(path, seen, change);
    if (wait !== undefined) return wait;
    if (seen === undefined) return { is: 'missing' };
    const revision = await readManifest(path, seen, this.deps);
    return revision === undefined ? this.unsettle(path, '', change) : { is: 'read', revision };
  }

  /** Returns undefined if no process seems to write to the file. Does not look at all processes. */
  private async untilSettled(path: string, seen: Seen | undefined, news: FileChange): Promise<Found | undefined> {
    const before = this.unsettled.get(path);
    const change = news ?? before?.change;
    if (seen !== undefined && change !== 'written' && !seemsInWriting(seen.stats, this.deps.clock.now())) {
      this.unsettled.delete(path);
      return undefined;
    }
    const fingerprint = seen?.fingerprint ?? 'missing';
    if (before?.fingerprint !== fingerprint) return this.unsettle(path, fingerprint, change);
    before.change = change;
    const leftMs = settleMs - (this.deps.clock.monotonic() - before.sinceMs);
    if (leftMs > 0) return { is: 'in writing', againInMs: leftMs };
    if (before.writer !== undefined && (await isStillWriting(path, before.writer)))
      return this.waitFor(before, before.writer);
    return undefined;
  }

  private unsettle(path: string, fingerprint: string, change: FileChange): Found {
    const { times = 0, ...before } = this.unsettled.get(path) ?? {};
    const sinceMs = this.deps.clock.monotonic();
    this.unsettled.set(path, { ...before, fingerprint, sinceMs, change, times });
    return { is: 'in writing', againInMs: settleMs };
  }

  private waitFor(unsettled: Unsettled, writer: Writer): Found {
    unsettled.writer = writer;
    unsettled.times += 1;
    return { is: 'in writing', againInMs: Math.min(settleMs * 2 ** unsettled.times, maxWaitMs), by: writer };
  }

  /** True if the content may be only the beginning of a file. Its problems do not count then. */
  private isDoubtful(path: string, found: Found | undefined): boolean {
    return this.unsettled.has(path) && found?.is === 'read' && found.revision.bytes !== undefined;
  }

  private async confirm(path: string, found: Found | undefined, writer: Writer | undefined): Promise<Found> {
    const unsettled = this.unsettled.get(path);
    if (writer !== undefined && unsettled !== undefined) return this.waitFor(unsettled, writer);
    const isSame = found?.is === 'read' && (await seeManifest(path))?.fingerprint === found.revision.fingerprint;
    return isSame ? found : this.unsettle(path, '', unsettled?.change);
  }
}

/**
 * True if the file may still be written. A write sets mtime and ctime to the same time. A ctime after the mtime means
 * that something followed the last write, such as a rename. An empty file was probably just created.
 */
function seemsInWriting({ size, mtimeMs, ctimeMs }: Stats, now: number): boolean {
  return Math.abs(now - mtimeMs) <= writtenLongAgoMs && (size === 0 || ctimeMs <= mtimeMs);
}

/** Returns a problem as a Revision if the path cannot be read, undefined if it does not exist. Never rejects. */
async function seeManifest(path: string): Promise<Seen | Revision | undefined> {
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
    return refused(path, { message: 'is a link to nothing', hint });
  }
}

/** Reads and decodes a manifest file. Returns undefined if it changed since it was seen. Never rejects. */
async function readManifest(path: string, seen: Seen, node: StaticPodNode): Promise<Revision | undefined> {
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
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
}

/** The fingerprint is the reason, so the same refusal is not news. */
function refused(path: string, problem: Pick<ManifestProblem, 'message' | 'hint'>): Revision {
  const problems: ManifestProblem[] = [{ origin: path, severity: 'error', ...problem }];
  return { fingerprint: `refused: ${problem.message}`, pods: [], configObjects: [], problems };
}
