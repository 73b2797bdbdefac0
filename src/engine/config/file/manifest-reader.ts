import type { Stats } from 'node:fs';
import pLimit from 'p-limit';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import { findWriters, isStillWriting, type Writer } from '../../host/file-writers.ts';
import { readManifest, type Revision, type Seen, seeManifest } from './manifest-file.ts';

/** What the watch saw of a file since the last look: it was written in place, or its name stands for another file. */
export type FileChange = 'written' | 'entry' | undefined;

export interface LookRequest {
  path: string;
  /** Fingerprint of the known revision; undefined: the file is not known. */
  known: string | undefined;
  change: FileChange;
}

export type Found =
  /** There is no such entry. */
  | { is: 'missing' }
  /** It is what is known. */
  | { is: 'unchanged' }
  /** It seems to be written just now: look again after this time. `by`: the process that has it open. */
  | { is: 'in writing'; againInMs: number; by?: Writer }
  | { is: 'read'; revision: Revision };

interface Deps extends StaticPodNode {
  clock: Clock;
}

/** A file that may be in writing, as it was at the last look. */
interface Unsettled {
  fingerprint: string;
  /** When it was seen like this first; monotonic. */
  sinceMs: number;
  change: FileChange;
  writer?: Writer;
  /** How often a writer was found. */
  times: number;
}

/** A file written in place is read, and a missing one is gone, if it did not change for this long. */
export const settleMs = 10;
/** Longest time between two looks at a file that a process has open. */
const maxWaitMs = 1000;
/** A file whose last write is longer ago than this counts as finished, unless the watch just saw it. */
const writtenLongAgoMs = 60_000;
/** Open files at a time. */
const maxParallelReads = 16;

/**
 * Reads manifest files, none of them half-written.
 *
 * INVARIANTS: what came into place by a rename is read at once. What was written in place is read when nothing about it
 * changed for 10 ms. It counts only if then no process had it open for writing and nothing changed since. A known file
 * is missing when it was not there for 10 ms: some programs remove a file before they write it anew.
 */
export class ManifestReader {
  private readonly deps: Deps;
  private readonly limit = pLimit(maxParallelReads);
  private readonly unsettled = new Map<string, Unsettled>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** What there is at each of these paths, in their order. */
  async look(requests: readonly LookRequest[]): Promise<Map<string, Found>> {
    const look = async (request: LookRequest): Promise<[string, Found]> => [request.path, await this.lookAt(request)];
    const found = new Map(await Promise.all(requests.map((request) => this.limit(look, request))));
    const doubtful = [...found].flatMap(([path, look]) => (this.isDoubtful(path, look) ? [path] : []));
    const writers = doubtful.length === 0 ? undefined : await findWriters(doubtful);
    for (const path of doubtful) found.set(path, await this.confirm(path, found.get(path), writers?.get(path)));
    for (const [path, { is }] of found) if (is === 'unchanged' || is === 'read') this.unsettled.delete(path);
    return found;
  }

  /** The file is not known any more. */
  forget(path: string): void {
    this.unsettled.delete(path);
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

  /** Returns undefined if nobody writes to it, as far as that can be said without a look at all processes. */
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

  /** True for what may be only the beginning of a file; that it is bad then means nothing either. */
  private isDoubtful(path: string, found: Found): boolean {
    const unsettled = this.unsettled.get(path);
    const isContent = found.is === 'read' && found.revision.bytes !== undefined;
    return unsettled !== undefined && unsettled.change !== 'entry' && isContent;
  }

  private async confirm(path: string, found: Found | undefined, writer: Writer | undefined): Promise<Found> {
    const unsettled = this.unsettled.get(path);
    if (writer !== undefined && unsettled !== undefined) return this.waitFor(unsettled, writer);
    const isSame = found?.is === 'read' && (await seeManifest(path))?.fingerprint === found.revision.fingerprint;
    return isSame ? found : this.unsettle(path, '', unsettled?.change);
  }
}

/**
 * A write stamps the content and the inode of a file with one time; only what comes after the last write, such as a
 * rename into the folder, leaves the inode with a later one. An empty file is one that was just made.
 */
function seemsInWriting({ size, mtimeMs, ctimeMs }: Stats, now: number): boolean {
  return Math.abs(now - mtimeMs) <= writtenLongAgoMs && (size === 0 || ctimeMs <= mtimeMs);
}
