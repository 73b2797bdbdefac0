import type { Stats } from 'node:fs';
import pLimit from 'p-limit';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import { fingerprintOf, readManifest, type Revision, statManifest } from './manifest-file.ts';
import { findWriters, isStillWriting, type Writer } from '../../host/file-writers.ts';

/** What the watch told of a file since the last look: it was written in place, or its name stands for another file. */
export type FileChange = 'written' | 'entry' | undefined;

export interface LookRequest {
  path: string;
  /** Fingerprint of the revision that is known; undefined: none is. */
  known: string | undefined;
  change: FileChange;
}

export type Look =
  /** There is no such entry. */
  | { is: 'missing' }
  /** It is what is known. */
  | { is: 'unchanged' }
  /** It seems to be written just now: look again after this time. `by`: who has it open. */
  | { is: 'in writing'; againInMs: number; by?: Writer }
  | { is: 'read'; revision: Revision };

interface Deps extends StaticPodNode {
  clock: Clock;
}

/** A file that may be in writing, as it was when it was looked at last. */
interface Unsettled {
  fingerprint: string;
  /** When it was seen like this first; monotonic. */
  sinceMs: number;
  change: FileChange;
  writer?: Writer;
  /** How often a writer was found. */
  times: number;
}

/** A file that was written in place is read once nothing about it changed for this long. */
export const settleMs = 10;
/** Longest time between two looks at a file that somebody has open. */
const maxWaitMs = 1000;
/** A file whose last write is longer ago than this counts as finished, unless the watch just told of it. */
const writtenLongAgoMs = 60_000;
/** Open files at a time. */
const maxParallelReads = 16;

/**
 * Reads manifest files, none of them half-written.
 *
 * INVARIANTS: what came into place by a rename is read at once; what was written in place is read when nothing about it
 * changed for 10 ms, and counts only when then no process had it open for writing and nothing changed since.
 */
export class ManifestReader {
  private readonly deps: Deps;
  private readonly limit = pLimit(maxParallelReads);
  private readonly unsettled = new Map<string, Unsettled>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** What there is at each of these paths, in their order. */
  async look(requests: readonly LookRequest[]): Promise<Map<string, Look>> {
    const looks = new Map<string, Look>();
    const found = await Promise.all(requests.map((request) => this.limit(() => this.lookAt(request))));
    for (const [index, { path }] of requests.entries()) looks.set(path, found[index] ?? { is: 'missing' });
    const doubtful = [...looks].filter(([path, look]) => this.isDoubtful(path, look)).map(([path]) => path);
    const writers = doubtful.length === 0 ? undefined : await findWriters(doubtful);
    for (const path of doubtful) looks.set(path, await this.confirm(path, looks.get(path), writers?.get(path)));
    for (const [path, look] of looks) if (look.is !== 'in writing') this.unsettled.delete(path);
    return looks;
  }

  private async lookAt({ path, known, change }: LookRequest): Promise<Look> {
    const seen = await statManifest(path);
    if (seen === undefined) return { is: 'missing' };
    if ('problems' in seen) return seen.fingerprint === known ? { is: 'unchanged' } : { is: 'read', revision: seen };
    if (fingerprintOf(seen) === known) return { is: 'unchanged' };
    const wait = await this.untilSettled(path, seen, change);
    if (wait !== undefined) return wait;
    const revision = await readManifest(path, seen, this.deps);
    return revision === undefined ? this.unsettle(path, '', change) : { is: 'read', revision };
  }

  /** Undefined: nobody writes to it, as far as that can be told without looking at all processes. */
  private async untilSettled(path: string, seen: Stats, news: FileChange): Promise<Look | undefined> {
    const before = this.unsettled.get(path);
    const change = news ?? before?.change;
    if (change !== 'written' && !seemsInWriting(seen, this.deps.clock.now())) {
      this.unsettled.delete(path);
      return undefined;
    }
    const fingerprint = fingerprintOf(seen);
    if (before?.fingerprint !== fingerprint) return this.unsettle(path, fingerprint, change);
    before.change = change;
    const leftMs = settleMs - (this.deps.clock.monotonic() - before.sinceMs);
    if (leftMs > 0) return { is: 'in writing', againInMs: leftMs };
    if (before.writer !== undefined && (await isStillWriting(path, before.writer)))
      return this.waitFor(before, before.writer);
    return undefined;
  }

  private unsettle(path: string, fingerprint: string, change: FileChange): Look {
    const { writer, times = 0 } = this.unsettled.get(path) ?? {};
    const sinceMs = this.deps.clock.monotonic();
    this.unsettled.set(path, { fingerprint, sinceMs, change, times, ...(writer && { writer }) });
    return { is: 'in writing', againInMs: settleMs };
  }

  private waitFor(unsettled: Unsettled, writer: Writer): Look {
    unsettled.writer = writer;
    unsettled.times += 1;
    return { is: 'in writing', againInMs: Math.min(settleMs * 2 ** unsettled.times, maxWaitMs), by: writer };
  }

  /** Perhaps only the beginning of what somebody writes; that it is bad then tells nothing either. */
  private isDoubtful(path: string, look: Look): boolean {
    const unsettled = this.unsettled.get(path);
    const isContent = look.is === 'read' && look.revision.bytes !== undefined;
    return unsettled !== undefined && unsettled.change !== 'entry' && isContent;
  }

  private async confirm(path: string, look: Look | undefined, writer: Writer | undefined): Promise<Look> {
    const unsettled = this.unsettled.get(path);
    if (writer !== undefined && unsettled !== undefined) return this.waitFor(unsettled, writer);
    const seen = await statManifest(path);
    const isSame =
      look?.is === 'read' &&
      seen !== undefined &&
      !('problems' in seen) &&
      fingerprintOf(seen) === look.revision.fingerprint;
    return isSame ? look : this.unsettle(path, '', unsettled?.change);
  }
}

/**
 * A write stamps the content and the inode of a file with one time; only what comes after the last write, such as a rename
 * into the folder, leaves the inode with a later one. An empty file is one that was just made.
 */
function seemsInWriting({ size, mtimeMs, ctimeMs }: Stats, now: number): boolean {
  return Math.abs(now - mtimeMs) <= writtenLongAgoMs && (size === 0 || ctimeMs <= mtimeMs);
}
