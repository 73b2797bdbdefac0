import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { Logger } from '../../../logger.ts';
import { AsyncQueue } from '../../../flow/async-queue.ts';
import type { ManifestProblem } from '../../view/events.ts';
import type { Writer } from '../../host/file-writers.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import type { PodSource, SourceUpdate } from '../pod-source.ts';
import { isLink } from './manifest-file.ts';
import { ManifestFiles } from './manifest-files.ts';
import { isAt, ManifestPaths } from './manifest-paths.ts';
import { type FileChange, type Found, ManifestReader, settleMs } from './manifest-reader.ts';
import { type ManifestChange, ManifestWatch } from './manifest-watch.ts';
import { everything, type Look, rescan, Schedule, type Waiting } from './schedule.ts';
import { loadNotes, notesOrigin, saveNotes, type SourceNotes } from './source-notes.ts';

/** How long the first list waits, if a last good revision can replace it: it would be replaced again at once. */
const firstListMs: Record<Waiting, number> = { settling: 10_000, revising: 1000, held: 10_000, nothing: 0 };
/** After so many changes between two looks the kernel may have lost some: it keeps 16384. */
const maxChanges = 4096;
/** Between two looks at a path that is not mounted: nobody reports mounts. */
const mountCheckMs = 1000;
/** The process that writes to a file is named once the file waits so long between two looks. */
const longWaitMs = 300;

interface Deps extends StaticPodNode {
  /** Files or folders of manifests. */
  paths: readonly string[];
  /** Milliseconds between full rescans. kubelet: fileCheckFrequency */
  fileCheckFrequencyMs: number;
  clock: Clock;
  logger: Logger;
  /** Where the last good revision of every file is kept; undefined: nowhere. */
  lastGood?: LastGoodManifests;
  /** Where something is mounted now; undefined: this process asks for itself. */
  readMountPoints?: () => Promise<string[]>;
}

/**
 * Pods from files and folders of manifests. kubelet: config/file.go
 *
 * A one-way street: the watch and the clock put looks on the schedule; a look goes to the paths, then to the files that
 * are there, one revision each; what the revisions declare together is handed over.
 *
 * INVARIANTS: a change costs the reading of what changed. The first list is complete, and later on a file that is being
 * written keeps no other one waiting. A file is gone if its name is gone for a moment, from a folder that can be looked
 * at; anything else that happens to it leaves what it declared last. What was not looked at did not change.
 */
export class FileSource implements PodSource {
  readonly source = 'file';
  readonly where: string;
  private readonly deps: Deps;
  private readonly paths: ManifestPaths;
  private readonly files: ManifestFiles;
  private readonly reader: ManifestReader;
  private readonly schedule = new Schedule();
  private readonly wakeUps = new AsyncQueue<'changed'>();
  /** Undefined: nobody wants to know of changes. */
  private watch: ManifestWatch | undefined;
  /** What the watch saw of files since the last look at them. */
  private readonly changes = new Map<string, FileChange>();
  private changeCount = 0;
  /** Of the life before, until the first list of this one is complete. */
  private notesBefore: SourceNotes | undefined;
  private isFirstListComplete = false;
  /** Those that asked for the paths to be looked at, since the last look began. */
  private asking: (() => void)[] = [];

  constructor(deps: Deps) {
    const paths = [...new Set(deps.paths.map((path) => path.replace(/(?<=.)\/+$/, '')))];
    this.where = paths.join(', ');
    this.deps = { ...deps, paths };
    this.paths = new ManifestPaths(this.deps);
    this.files = new ManifestFiles(deps);
    this.reader = new ManifestReader(deps);
  }

  async run(sink: Parameters<PodSource['run']>[0], signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    const onChange = (change: ManifestChange): void => {
      this.note(change);
    };
    this.watch = new ManifestWatch({ onChange, clock, logger });
    try {
      sink.onUpdate(await this.read(signal));
      if (this.asking.length > 0) this.lookSoon(everything);
      let asked: (() => void)[] = [];
      for (;;) {
        await this.untilDue(signal);
        asked.push(...this.asking.splice(0));
        if (await this.look()) sink.onUpdate(this.update());
        if (this.schedule.has((waiting) => waiting === 'settling' || waiting === 'revising')) continue;
        for (const resolve of asked) resolve();
        asked = [];
      }
    } finally {
      this.watch.close();
    }
  }

  /**
   * Looks at everything, and resolves once that is handed over. A file that a process has open for writing counts as it
   * was before.
   */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.asking.push(resolve);
      this.lookSoon(everything);
    });
  }

  /** Looks at everything once, and again until nothing is about to change. */
  async read(signal?: AbortSignal): Promise<SourceUpdate> {
    const { clock, lastGood } = this.deps;
    const sinceMs = clock.monotonic();
    this.lookSoon(everything);
    await this.look();
    while (this.schedule.has((waiting) => clock.monotonic() - sinceMs < firstListMs[waiting])) {
      await clock.sleep(Math.max(0, this.schedule.nextMs - clock.monotonic()), signal && { signal });
      await this.look();
    }
    if (this.notesBefore !== undefined) {
      // All that was there at the start was read: from now on the order is that of what happens.
      await this.files.restoreOrder(this.notesBefore.contested);
      this.notesBefore = undefined;
      this.isFirstListComplete = true;
      this.save();
      void lastGood?.retain('file', [...this.files.paths, notesOrigin]);
    }
    return this.update();
  }

  private update(): SourceUpdate {
    const { problems, ...declared } = this.files.contents();
    const pathProblems = this.paths.problems((path) => this.files.newestGoodAt((file) => isAt(file, path)));
    return { source: 'file', where: this.where, ...declared, problems: [...pathProblems, ...problems] };
  }

  private async untilDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    for (;;) {
      const leftMs = this.schedule.nextMs - clock.monotonic();
      if (leftMs <= 0) return;
      const cancel = clock.after(leftMs, () => {
        this.wakeUp();
      });
      try {
        await this.wakeUps.pull(signal);
      } finally {
        cancel();
      }
    }
  }

  private note({ file, how }: ManifestChange): void {
    this.changeCount += 1;
    if (file === undefined || this.changeCount > maxChanges) {
      this.lookSoon(everything);
      return;
    }
    // What was written in place counts as that, whatever else happened to it.
    this.changes.set(file, this.changes.get(file) === 'written' ? 'written' : how);
    // A process that writes all the time does not keep us busy.
    const isAwaited = (this.schedule.at(file) ?? 0) > this.deps.clock.monotonic();
    this.lookSoon(file, how === 'written' && isAwaited ? settleMs : 0);
  }

  private lookSoon(look: Look, inMs = 0): void {
    const beforeMs = this.schedule.nextMs;
    this.schedule.by(look, this.deps.clock.monotonic() + inMs, 'settling');
    if (this.schedule.nextMs < beforeMs) this.wakeUp();
  }

  private wakeUp(): void {
    if (this.wakeUps.length === 0) this.wakeUps.push('changed');
  }

  /** Looks at what is due. Returns false if nothing is new. */
  private async look(): Promise<boolean> {
    const due = this.schedule.take(this.deps.clock.monotonic());
    this.changeCount = 0;
    const isEverything = due.has(everything) || due.has(rescan);
    const isNews = await (isEverything ? this.lookAtEverything() : this.lookAtSome(due));
    this.save();
    return isNews || isEverything;
  }

  private async lookAtEverything(): Promise<boolean> {
    const { clock, fileCheckFrequencyMs, lastGood, paths } = this.deps;
    if (!this.isFirstListComplete && this.notesBefore === undefined) {
      this.notesBefore = await loadNotes(lastGood);
      this.paths.mountPoints = this.notesBefore.mountPoints;
    }
    this.watch?.beginRound();
    for (const path of paths) await this.watch?.followPath(path);
    await this.paths.look(() => true);
    const rescanMs = this.paths.isUnmounted ? Math.min(mountCheckMs, fileCheckFrequencyMs) : fileCheckFrequencyMs;
    this.schedule.by(rescan, clock.monotonic() + rescanMs, 'nothing');
    if (!this.isFirstListComplete) await this.files.restore((file) => this.paths.mayHaveHad(file));
    for (const link of this.paths.links) await this.watch?.followLink(link);
    const isNews = await this.lookAt(this.takeChanges([...this.paths.files, ...this.files.paths]));
    this.watch?.endRound();
    this.paths.noteMountPoints((path) => this.files.paths.some((file) => isAt(file, path)));
    void lastGood?.retry();
    return isNews;
  }

  private async lookAtSome(due: ReadonlySet<Look>): Promise<boolean> {
    const changes = this.takeChanges([...due].filter((look) => typeof look === 'string'));
    const ignored: string[] = [];
    for (const [file, change] of changes) {
      if (this.watch !== undefined && change === 'entry' && (await isLink(file))) await this.watch.followLink(file);
      if (!this.paths.isIgnored(file)) continue;
      changes.delete(file);
      if (change === 'entry') ignored.push(file);
    }
    const isNews = await this.lookAtPathsOf(ignored);
    return (await this.lookAt(changes)) || isNews;
  }

  /** What the watch saw of these files. */
  private takeChanges(files: readonly string[]): Map<string, FileChange> {
    const changes = new Map(files.map((file) => [file, this.changes.get(file)]));
    for (const file of files) this.changes.delete(file);
    return changes;
  }

  /** Looks at the paths of these files. Returns false if nothing is wrong with them that is new. */
  private async lookAtPathsOf(files: readonly string[]): Promise<boolean> {
    if (files.length === 0) return false;
    const news = await this.paths.look((path) => files.some((file) => isAt(file, path)));
    if (news === 'other') this.lookSoon(everything);
    return news !== 'same';
  }

  /** Looks at files. Returns false if everything is as it was. */
  private async lookAt(changes: ReadonlyMap<string, FileChange>): Promise<boolean> {
    const requests = [...changes].map(([path, change]) => ({ path, change, known: this.files.fingerprint(path) }));
    // Of files that are new at the same time the first one by name is seen first.
    requests.sort((a, b) => (a.path < b.path ? -1 : 1));
    const found = await this.reader.look(requests.filter(({ path }) => !this.paths.isAway(path)));
    const missing = [...found.keys()].filter((file) => found.get(file)?.is === 'missing' && this.files.has(file));
    let isNews = await this.lookAtPathsOf(missing);
    const isAnythingRead = missing.length > 0 || [...found.values()].some(({ is }) => is === 'read');
    if (isAnythingRead && !(await this.paths.areStill())) {
      this.lookSoon(everything);
      return isNews;
    }
    for (const [file, look] of found) isNews = (await this.take(file, look)) || isNews;
    return isNews;
  }

  /** Takes what was found. Returns false if that is nothing new. */
  private async take(file: string, found: Found): Promise<boolean> {
    switch (found.is) {
      case 'missing':
        return this.lose(file);
      case 'unchanged':
        return this.files.wait(file);
      case 'read':
        await this.files.take(file, found.revision);
        return true;
      case 'in writing': {
        const { againInMs, by } = found;
        const isNews = await this.files.wait(file, by && againInMs >= longWaitMs ? waitsFor(file, by) : undefined);
        const waiting = this.files.declaresAnything(file) ? (by ? 'nothing' : 'revising') : by ? 'held' : 'settling';
        this.schedule.by(file, this.deps.clock.monotonic() + againInMs, waiting);
        return isNews;
      }
    }
  }

  /** Drops a file that is missing once that says that it is gone. Returns false if it stands. */
  private lose(file: string): boolean {
    if (!this.files.has(file)) return false;
    const goneAtMs = this.paths.goneAtMs(file);
    if (goneAtMs > this.deps.clock.monotonic()) {
      this.schedule.by(everything, goneAtMs, 'settling');
      return false;
    }
    this.files.remove(file);
    this.reader.forget(file);
    return true;
  }

  private save(): void {
    // Until then the disk says what was before.
    if (!this.isFirstListComplete) return;
    this.files.save();
    saveNotes(this.deps.lastGood, { mountPoints: this.paths.mountPoints, contested: this.files.contested() });
  }
}

function waitsFor(file: string, { pid, command }: Writer): ManifestProblem {
  const message = `process ${pid} (${command}) has it open for writing; it is read when that is done`;
  return { origin: file, severity: 'warning', message };
}
