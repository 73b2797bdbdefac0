import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { type FileSourceNotes, loadNotes, notesOrigin, saveNotes } from './file-source-notes.ts';
import { IgnoredFiles } from './ignored-files.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import { ignoredBecause } from './manifest-file-name.ts';
import { isAt, ManifestFiles } from './manifest-files.ts';
import type { PathLook } from './manifest-path.ts';
import { ManifestPlaces } from './manifest-places.ts';
import { type FileChange, type Look, ManifestReader, settleMs } from './manifest-reader.ts';
import type { Writer } from '../../host/file-writers.ts';
import type { ManifestWatch } from './manifest-watch.ts';

/** A file is gone when it was not there for this long: some programs remove a file before they write it anew. */
const fileGoneMs = 10;
/** Who writes to a file is told once it is waited for so long between two looks. */
const longWaitMs = 300;

interface Deps extends StaticPodNode {
  /** Files or folders of manifests, without slashes at the end. */
  paths: readonly string[];
  clock: Clock;
  lastGood: LastGoodManifests | undefined;
  readMountPoints?: (() => Promise<string[]>) | undefined;
}

/**
 * The manifests at some paths, as they are on disk: looks at all of them, or at those of which the watch told.
 *
 * INVARIANTS: a file is gone when its name is gone, from a folder that can be looked at, for a moment; whatever else
 * happens to it leaves what it declared last. What was not looked at did not change.
 */
export class ManifestTree {
  /** Follows what is looked at; undefined: nobody wants to be told. */
  watch: ManifestWatch | undefined;
  private readonly deps: Deps;
  private readonly places: ManifestPlaces;
  private readonly files: ManifestFiles;
  private readonly reader: ManifestReader;
  private readonly ignored = new IgnoredFiles();
  private isFirstListComplete = false;
  /** Of the life before, until the first list of this one is complete. */
  private notesBefore: FileSourceNotes | undefined;
  /** Files that have to be looked at again, and when; monotonic, as all times here. */
  private readonly againMs = new Map<string, number>();
  /** Of these, the files that a process has open for writing. */
  private readonly heldOpen = new Set<string>();
  /** Known files that were not found, since when. */
  private readonly missingSinceMs = new Map<string, number>();

  constructor(deps: Deps) {
    this.deps = deps;
    this.places = new ManifestPlaces(deps);
    this.files = new ManifestFiles(deps);
    this.reader = new ManifestReader(deps);
  }

  /** When something has to be looked at, whatever the watch tells; Infinity: never. */
  get dueMs(): number {
    return Math.min(this.places.everythingAgainMs, this.places.unmountedAgainMs, ...this.againMs.values());
  }

  get isEverythingDue(): boolean {
    return this.places.everythingAgainMs <= this.deps.clock.monotonic();
  }

  /** A moment will tell what becomes of something: whether it is gone, or what it declares. */
  get isUnsettled(): boolean {
    if (this.missingSinceMs.size > 0 || this.places.everythingAgainMs < Infinity) return true;
    return [...this.againMs.keys()].some((file) => !this.files.declaresAnything(file));
  }

  /** As `isUnsettled`, of everything there is; whoever keeps a file open for writing may do so for any time. */
  get isAboutToChange(): boolean {
    if (this.missingSinceMs.size > 0 || this.places.everythingAgainMs < Infinity) return true;
    return [...this.againMs.keys()].some((file) => !this.heldOpen.has(file));
  }

  /** The file is looked at again in a moment, whatever happens. */
  isAwaited(file: string): boolean {
    return (this.againMs.get(file) ?? 0) > this.deps.clock.monotonic();
  }

  /** Waits no longer than a moment for a file that is awaited. False: so it is. */
  lookSoon(file: string): boolean {
    const soonMs = this.deps.clock.monotonic() + settleMs;
    if ((this.againMs.get(file) ?? 0) <= soonMs) return false;
    this.againMs.set(file, soonMs);
    return true;
  }

  contents(): Manifests {
    const { problems, ...declared } = this.files.contents();
    const pathProblems = this.places.problems((path) => this.files.newestGoodAt(this.files.at(path)));
    return { ...declared, problems: [...pathProblems, ...this.ignored.problems, ...problems] };
  }

  /** Looks at everything. `changes`: what the watch told of files. */
  async lookAtEverything(changes: ReadonlyMap<string, FileChange>): Promise<void> {
    if (!this.isFirstListComplete && this.notesBefore === undefined) {
      this.notesBefore = await loadNotes(this.deps.lastGood);
      this.places.mountPoints = this.notesBefore.mountPoints;
    }
    this.watch?.beginRound();
    for (const path of this.deps.paths) await this.watch?.followPath(path);
    await this.places.lookAtAll();
    if (!this.isFirstListComplete) for (const [path, place] of this.places) await this.restore(path, place);
    const listed = await this.listFiles();
    await this.lookAt(new Map([...listed].map((file) => [file, changes.get(file)])));
    this.removeMissing(this.files.paths.filter((file) => !listed.has(file)));
    this.watch?.endRound();
    this.places.noteMountPoints((path) => this.files.at(path).length > 0);
    this.save();
    void this.deps.lastGood?.retry();
  }

  /** All that was there at the start was read: from now on the order is that of what happens. */
  async endFirstList(): Promise<void> {
    if (this.notesBefore === undefined) return;
    await this.files.restoreOrder(this.notesBefore.contested);
    this.isFirstListComplete = true;
    this.notesBefore = undefined;
    this.save();
    void this.deps.lastGood?.retain('file', [...this.files.paths, notesOrigin]);
  }

  /** Looks at the files that the watch told of, and at those that are due. False: everything is as it was. */
  async lookAtChanges(changes: ReadonlyMap<string, FileChange>): Promise<boolean> {
    const now = this.deps.clock.monotonic();
    const files = new Map<string, FileChange>();
    for (const [file, dueMs] of this.againMs) if (dueMs <= now) files.set(file, undefined);
    let isNews = false;
    for (const [file, change] of changes) {
      if (this.isNoManifest(file)) isNews = (await this.ignored.look(file)) || isNews;
      else files.set(file, change);
      if (this.watch !== undefined && (await isLink(file))) await this.watch.followLink(file);
    }
    const looked = await this.lookAt(files);
    const missing = looked.missing.filter((file) => this.files.has(file));
    if (missing.length > 0) {
      await this.places.lookAgainAt(this.deps.paths.filter((path) => missing.some((file) => isAt(file, path))));
      isNews = this.removeMissing(missing) || isNews;
    }
    await this.places.lookAtUnmounted();
    this.save();
    return isNews || looked.isNews;
  }

  /** Takes what an earlier life read at a path that cannot be looked at, or in a folder that is not there. */
  private async restore(path: string, { is }: PathLook): Promise<void> {
    if (is === 'away') await this.files.restore((file) => isAt(file, path));
    else if (is === 'removed') await this.files.restore((file) => dirname(file) === path);
  }

  /** The files that there are to read; links are followed. */
  private async listFiles(): Promise<Set<string>> {
    const listed = new Set<string>();
    this.ignored.clear();
    for (const [path, place] of this.places) {
      if (place.is === 'file') listed.add(path);
      if (place.is !== 'folder') continue;
      for (const entry of place.entries) {
        const file = join(path, entry.name);
        if (this.isNoManifest(file)) this.ignored.add(file, entry.isFolder);
        else listed.add(file);
        if (entry.isLink) await this.watch?.followLink(file);
      }
    }
    return listed;
  }

  private async lookAt(files: ReadonlyMap<string, FileChange>): Promise<{ missing: string[]; isNews: boolean }> {
    const requests = [...files].map(([path, change]) => ({ path, change, known: this.files.fingerprint(path) }));
    // Of files that are new at the same time the first one by name is seen first.
    requests.sort((a, b) => (a.path < b.path ? -1 : 1));
    const missing: string[] = [];
    let isNews = false;
    const looks = await this.reader.look(requests);
    const isAnythingRead = [...looks.values()].some(({ is }) => is === 'read');
    if (isAnythingRead && !(await this.places.areStill())) return { missing, isNews };
    for (const [file, look] of looks) {
      this.againMs.delete(file);
      this.heldOpen.delete(file);
      if (look.is === 'missing') missing.push(file);
      else isNews = (await this.take(file, look)) || isNews;
    }
    return { missing, isNews };
  }

  /** False: it tells nothing new. */
  private async take(file: string, look: Exclude<Look, { is: 'missing' }>): Promise<boolean> {
    this.missingSinceMs.delete(file);
    switch (look.is) {
      case 'unchanged':
        return this.files.wait(file, undefined);
      case 'in writing':
        this.againMs.set(file, this.deps.clock.monotonic() + look.againInMs);
        if (look.by !== undefined) this.heldOpen.add(file);
        return this.files.wait(file, look.againInMs < longWaitMs ? undefined : look.by && waitsFor(file, look.by));
      case 'read':
        await this.files.take(file, look.revision);
        return true;
    }
  }

  /** Removes the files that are missing for long enough, from places where they would be seen. False: there is none. */
  private removeMissing(files: readonly string[]): boolean {
    const now = this.deps.clock.monotonic();
    let isNews = false;
    for (const file of files) {
      const paths = this.deps.paths.filter((path) => isAt(file, path));
      if (!paths.every((path) => this.places.hasLost(path, file))) {
        this.missingSinceMs.delete(file);
        continue;
      }
      const sinceMs = this.missingSinceMs.get(file) ?? now;
      if (now - sinceMs < fileGoneMs) {
        this.missingSinceMs.set(file, sinceMs);
        this.againMs.set(file, sinceMs + fileGoneMs);
        continue;
      }
      this.missingSinceMs.delete(file);
      this.files.remove(file);
      isNews = true;
    }
    return isNews;
  }

  private save(): void {
    // Until then the disk tells what was before.
    if (!this.isFirstListComplete) return;
    this.files.save();
    saveNotes(this.deps.lastGood, { mountPoints: this.places.mountPoints, contested: this.files.contested() });
  }

  /** A path that the user named is a manifest whatever it is called. */
  private isNoManifest(file: string): boolean {
    return !this.deps.paths.includes(file) && ignoredBecause(file) !== undefined;
  }
}

function waitsFor(file: string, { pid, command }: Writer): ManifestProblem {
  const message = `process ${pid} (${command}) has it open for writing; it is read when that is done`;
  return { origin: file, severity: 'warning', message };
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
}
