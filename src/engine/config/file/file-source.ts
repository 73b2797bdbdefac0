import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { Logger } from '../../../logger.ts';
import { AsyncQueue } from '../../../flow/async-queue.ts';
import { unlessAborted } from '../../../flow/unless-aborted.ts';
import { untilTick } from '../../../flow/ticks.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { HungPathError, PathGuard } from '../../host/path-guard.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import type { PodSource, SourceUpdate } from '../pod-source.ts';
import { LastingErrors } from './lasting-errors.ts';
import { ManifestFiles } from './manifest-files.ts';
import { hungHint, isAt, ManifestPaths } from './manifest-paths.ts';
import { type FileChange, type Found, isLink, ManifestReader } from './manifest-reader.ts';
import { type ManifestChange, ManifestWatch } from './manifest-watch.ts';
import { everything, type Check, Schedule } from './schedule.ts';
import { loadState, stateOrigin, saveState, type SourceState } from './source-state.ts';

/** How long the first list waits for files and paths that are changing. */
const firstListMs = 10_000;
/** After more changes than this between two checks, everything is read again, because the kernel queues only 16384. */
const maxChanges = 4096;
/** Time between two checks of an unmounted path, because the watch does not report mounts. */
const mountCheckMs = 1000;
/** Renaming, moving, or writing a file in several steps causes errors for less than this time. */
const errorsLastMs = 1500;
/**
 * Hung manifests may block two of Node's four threads, and hung volumes a third. The last one serves everything else.
 */
const maxHungFileSystems = 2;

interface Deps extends StaticPodNode {
  /** Defaults to `file`. */
  source?: 'file' | 'applied';
  /** Manifest files and folders. */
  paths: readonly string[];
  /** Milliseconds between full rescans. kubelet: fileCheckFrequency */
  fileCheckFrequencyMs: number;
  clock: Clock;
  logger: Logger;
  /** Stores the last good revision of every file; undefined to keep none. */
  lastGood?: LastGoodManifests;
  /** Lists the current mount points; by default those of this process. */
  readMountPoints?: () => Promise<string[]>;
  /** Defaults to a new guard for this source. */
  guard?: PathGuard;
}

/**
 * Pods from files and folders of manifests. kubelet: config/file.go
 *
 * Data flows one way. The watch and the clock schedule checks. A check lists the paths, then reads one revision of each
 * existing file. An update carries the objects of all these revisions.
 *
 * INVARIANTS: only changed files are read again. The first list is complete. After that, a file that is being written
 * does not delay other files. A file is removed only after its name was missing for a moment in a readable folder.
 * Otherwise its last objects stay. A file that was not checked counts as unchanged. After the first list, errors of a
 * file or path are reported only once they have lasted a moment, and `settle` waits for that. A path on a hung file
 * system counts as away. It delays the others once, for five seconds.
 */
export class FileSource implements PodSource {
  readonly source: 'file' | 'applied';
  readonly where: string;
  private readonly deps: Deps;
  private readonly guard: PathGuard;
  private readonly paths: ManifestPaths;
  private readonly files: ManifestFiles;
  private readonly reader: ManifestReader;
  private readonly schedule = new Schedule();
  private readonly errors = new LastingErrors();
  private readonly wakeUps = new AsyncQueue<'changed'>();
  /** Undefined while `run` is not running. */
  private watch: ManifestWatch | undefined;
  /** The file changes that the watch reported since the last check of each file. */
  private readonly changes = new Map<string, FileChange>();
  private changeCount = 0;
  /** The state saved by the last run, until the first list of this run is complete. */
  private stateBefore: SourceState | undefined;
  private isFirstListComplete = false;
  /** `settle` calls that have been pending since the last check began. */
  private asking: (() => void)[] = [];

  constructor(deps: Deps) {
    const paths = [...new Set(deps.paths.map((path) => path.replace(/(?<=.)\/+$/, '')))];
    this.source = deps.source ?? 'file';
    this.where = paths.join(', ');
    this.deps = { ...deps, paths };
    this.guard =
      deps.guard ??
      new PathGuard({
        maxHung: maxHungFileSystems,
        onBack: () => {
          this.checkSoon(everything);
        },
      });
    this.paths = new ManifestPaths({ ...this.deps, guard: this.guard });
    this.files = new ManifestFiles({ ...deps, source: this.source });
    this.reader = new ManifestReader({ ...deps, guard: this.guard });
  }

  async run(sink: Parameters<PodSource['run']>[0], signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    const onChange = (change: ManifestChange): void => {
      this.recordChange(change);
    };
    this.watch = new ManifestWatch({ onChange, clock, logger });
    try {
      let update = await unlessAborted(this.read(signal), signal);
      sink.onUpdate(update);
      if (this.asking.length > 0) this.checkSoon(everything);
      let asked: (() => void)[] = [];
      for (;;) {
        await this.untilDue(signal);
        asked.push(...this.asking.splice(0));
        // A hung check must not delay stopping the agent.
        const found = await unlessAborted(this.runDueChecks(), signal);
        const areErrorsDue = this.errors.dueMs <= clock.monotonic();
        if (found !== undefined || areErrorsDue) {
          if (found === 'changed' || areErrorsDue) update = this.update();
          // Sends no list if nothing changed, because merging unchanged pods is most of the work of a rescan.
          if (found === 'changed') sink.onUpdate(update);
          else sink.onProblems(update.problems);
        }
        if (this.errors.dueMs < Infinity || this.schedule.isAwaited) continue;
        for (const resolve of asked) resolve();
        asked = [];
      }
    } finally {
      this.watch.close();
    }
  }

  /**
   * Checks everything and resolves once the result was sent. Waits at most a second for a file that is being written.
   */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.asking.push(resolve);
      this.checkSoon(everything);
    });
  }

  fileOf(key: string): string | undefined {
    return this.files.owner(key);
  }

  /** Checks everything, repeatedly until no change is pending. */
  async read(signal?: AbortSignal): Promise<SourceUpdate> {
    const { clock, lastGood } = this.deps;
    const sinceMs = clock.monotonic();
    this.checkSoon(everything);
    await this.runDueChecks();
    while (this.schedule.isAwaited && clock.monotonic() - sinceMs < firstListMs) {
      await clock.sleep(Math.max(0, this.schedule.nextMs - clock.monotonic()), signal && { signal });
      await this.runDueChecks();
    }
    if (this.stateBefore !== undefined) {
      // All files that existed at the start are read. From now on the first file to declare an object owns it.
      await this.files.restoreOrder(this.stateBefore.contested);
      this.stateBefore = undefined;
      this.isFirstListComplete = true;
      this.save();
      void lastGood?.retain(this.source, [...this.files.paths, stateOrigin]);
    }
    return this.update(0);
  }

  private update(errorsAfterMs = errorsLastMs): SourceUpdate {
    const { problems, ...declared } = this.files.contents();
    const pathProblems = this.paths.problems((path) => this.files.newestGoodAt((file) => isAt(file, path)));
    const lasting = this.errors.lasting([...pathProblems, ...problems], this.deps.clock.monotonic(), errorsAfterMs);
    return { source: this.source, where: this.where, ...declared, problems: lasting };
  }

  private async untilDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    for (;;) {
      const leftMs = Math.min(this.schedule.nextMs, this.errors.dueMs) - clock.monotonic();
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

  private recordChange({ file, how }: ManifestChange): void {
    this.changeCount += 1;
    if (file === undefined || this.changeCount > maxChanges) {
      this.checkSoon(everything);
      return;
    }
    // If both changed, a write in place wins over a changed entry, because the content may be incomplete. For an
    // ignored file the entry wins, because its content is not read.
    const kept = this.paths.isIgnored(file) ? 'entry' : 'written';
    this.changes.set(file, this.changes.get(file) === kept ? kept : how);
    // A process that writes constantly must not keep the source busy.
    if (how !== 'written' || !this.schedule.has(file)) this.checkSoon(file);
  }

  private checkSoon(check: Check): void {
    const beforeMs = this.schedule.nextMs;
    this.schedule.by(check, this.deps.clock.monotonic(), true);
    if (this.schedule.nextMs < beforeMs) this.wakeUp();
  }

  private wakeUp(): void {
    if (this.wakeUps.length === 0) this.wakeUps.push('changed');
  }

  /** Runs the due checks. Returns undefined if some files were checked, and none changed. */
  private async runDueChecks(): Promise<'changed' | 'same' | undefined> {
    const due = this.schedule.takeDue(this.deps.clock.monotonic());
    this.changeCount = 0;
    const isEverything = due.has(everything);
    const hasChanged = await (isEverything ? this.checkEverything() : this.checkSome(due));
    this.save();
    if (hasChanged) return 'changed';
    return isEverything ? 'same' : undefined;
  }

  /** Returns false if nothing changed. */
  private async checkEverything(): Promise<boolean> {
    const { clock, fileCheckFrequencyMs, lastGood, paths } = this.deps;
    if (!this.isFirstListComplete && this.stateBefore === undefined) {
      this.stateBefore = await loadState(this.source, lastGood);
      this.paths.mountPoints = this.stateBefore.mountPoints;
      await this.paths.readMountPoints();
    }
    this.watch?.beginRound();
    for (const path of paths) await this.unlessHung(path, async () => this.watch?.followPath(path));
    const arePathsNew = (await this.paths.check(() => true)) !== 'same';
    const rescanMs = this.paths.isUnmounted ? Math.min(mountCheckMs, fileCheckFrequencyMs) : fileCheckFrequencyMs;
    this.schedule.by(everything, clock.monotonic() + untilTick(clock, rescanMs), false);
    if (!this.isFirstListComplete) await this.files.restore((file) => this.paths.mayHaveHad(file));
    for (const link of this.paths.links) await this.unlessHung(link, async () => this.watch?.followLink(link));
    const hasChanged = await this.checkFiles(this.takeChanges([...this.paths.files, ...this.files.paths]));
    this.watch?.endRound();
    this.paths.recordMountPoints((path) => this.files.paths.some((file) => isAt(file, path)));
    void lastGood?.retry();
    return hasChanged || arePathsNew;
  }

  private async checkSome(due: ReadonlySet<Check>): Promise<boolean> {
    const changes = this.takeChanges([...due].filter((check) => typeof check === 'string'));
    const ignored: string[] = [];
    for (const [file, change] of changes) {
      // Any change may mean that a link replaced the file.
      await this.unlessHung(file, async () => {
        if (this.watch !== undefined && (await isLink(file))) await this.watch.followLink(file);
      });
      if (!this.paths.isIgnored(file)) continue;
      changes.delete(file);
      if (change === 'entry') ignored.push(file);
    }
    const hasChanged = await this.checkPathsOf(ignored);
    return (await this.checkFiles(changes)) || hasChanged;
  }

  /** Removes the reported changes of these files and returns them. */
  private takeChanges(files: readonly string[]): Map<string, FileChange> {
    const changes = new Map(files.map((file) => [file, this.changes.get(file)]));
    for (const file of files) this.changes.delete(file);
    return changes;
  }

  /** Checks the paths of these files. Returns false if neither the paths nor their problems changed. */
  private async checkPathsOf(files: readonly string[]): Promise<boolean> {
    if (files.length === 0) return false;
    const change = await this.paths.check((path) => files.some((file) => isAt(file, path)));
    if (change === 'other') this.checkSoon(everything);
    return change !== 'same';
  }

  /** Checks files. Returns false if none changed. */
  private async checkFiles(changes: ReadonlyMap<string, FileChange>): Promise<boolean> {
    const links = new Set(this.paths.links);
    const requests = [...changes].map(([path, change]) => {
      // A link may lead to a different file system than its folder's.
      const guardPath = links.has(path) ? path : this.paths.pathOf(path);
      return { path, guardPath, change, known: this.files.fingerprint(path) };
    });
    // New files are added in order of their names.
    requests.sort((a, b) => (a.path < b.path ? -1 : 1));
    const found = await this.reader.read(requests.filter(({ path }) => !this.paths.isAway(path)));
    const missing = [...found.keys()].filter((file) => found.get(file)?.is === 'missing' && this.files.has(file));
    let hasChanged = await this.checkPathsOf(missing);
    const isAnythingRead = missing.length > 0 || [...found.values()].some(({ is }) => is === 'read');
    if (isAnythingRead && !(await this.paths.areUnchanged())) {
      this.checkSoon(everything);
      return hasChanged;
    }
    for (const [file, result] of found) hasChanged = (await this.apply(file, result)) || hasChanged;
    // The check of its folder reports a hung file.
    if (requests.some(({ path, guardPath }) => guardPath !== path && found.get(path)?.is === 'hung'))
      this.checkSoon(everything);
    return hasChanged;
  }

  /** Applies the result of checking a file. Returns false if nothing changed. */
  private async apply(file: string, found: Found): Promise<boolean> {
    switch (found.is) {
      case 'missing':
        return this.removeIfDue(file);
      case 'hung':
        return this.paths.links.includes(file) ? this.files.wait(file, hungProblem(file)) : false;
      case 'unchanged':
        return this.files.wait(file);
      case 'read':
        await this.files.store(file, found.revision);
        return true;
      case 'in writing':
        this.schedule.by(file, this.deps.clock.monotonic() + found.againInMs, !found.isLong);
        return this.files.wait(file, found.isLong ? inWriting(file) : undefined);
    }
  }

  /** Does nothing if the file system of the path hangs. The check of the path reports that. */
  private async unlessHung(path: string, work: () => Promise<void>): Promise<void> {
    await this.guard.run(path, work).catch((error: unknown) => {
      if (!(error instanceof HungPathError)) throw error;
    });
  }

  /** Deletes a missing file once it counts as removed. Returns false if it stays. */
  private removeIfDue(file: string): boolean {
    if (!this.files.has(file)) return false;
    const removedAtMs = this.paths.removedAtMs(file);
    if (removedAtMs > this.deps.clock.monotonic()) {
      this.schedule.by(everything, removedAtMs, true);
      return false;
    }
    this.files.remove(file);
    this.reader.drop(file);
    return true;
  }

  private save(): void {
    // Until then the disk must keep the state of the last run.
    if (!this.isFirstListComplete) return;
    this.files.save();
    saveState(this.source, this.deps.lastGood, {
      mountPoints: this.paths.mountPoints,
      contested: this.files.contested(),
    });
  }
}

const hungProblem = (file: string): ManifestProblem => ({
  origin: file,
  severity: 'error',
  message: 'the file system that it leads to does not answer; its last good revision stays in use',
  hint: hungHint(file),
});

const inWriting = (file: string): ManifestProblem => ({
  origin: file,
  severity: 'warning',
  message: 'is being written; it is read once it stays unchanged for 100 ms',
});
