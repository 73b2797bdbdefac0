import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { Logger } from '../../../logger.ts';
import { AsyncQueue } from '../../../flow/async-queue.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import type { FileChange } from './manifest-reader.ts';
import { ManifestTree } from './manifest-tree.ts';
import { type ManifestChange, ManifestWatch } from './manifest-watch.ts';
import type { PodSource, SourceUpdate } from '../pod-source.ts';

/** So long the first list waits for files that are being written and of which nothing is known. */
const firstListMs = 10_000;
/** And so long for those of which the last good revision can stand in: what is about to be replaced is not started. */
const newRevisionMs = 1000;
/** After so many changes at once the kernel may have lost some: it keeps 16384. */
const maxChanges = 4096;

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
 * Pods from files and folders of manifests: read at once, whenever the watch tells of a change, and every
 * `fileCheckFrequency`. kubelet: config/file.go
 *
 * INVARIANTS: a change costs the reading of what changed; the first list is complete, and later on a file that is being
 * written keeps no other one waiting.
 */
export class FileSource implements PodSource {
  readonly source = 'file';
  readonly where: string;
  private readonly deps: Deps;
  private readonly tree: ManifestTree;
  private readonly wakeUps = new AsyncQueue<'changed'>();
  private changes = new Map<string, FileChange>();
  private changeCount = 0;
  private isAnythingChanged = false;
  /** Monotonic. */
  private rescanAtMs = 0;
  /** Those that asked for the paths to be looked at, since the last look began. */
  private asking: (() => void)[] = [];

  constructor(deps: Deps) {
    this.deps = deps;
    const paths = [...new Set(deps.paths.map((path) => path.replace(/(?<=.)\/+$/, '')))];
    this.where = paths.join(', ');
    this.tree = new ManifestTree({ ...deps, paths, lastGood: deps.lastGood });
  }

  async run(sink: Parameters<PodSource['run']>[0], signal: AbortSignal): Promise<void> {
    const onChange = (change: ManifestChange): void => {
      this.note(change);
    };
    const watch = new ManifestWatch({ onChange, logger: this.deps.logger });
    this.tree.watch = watch;
    try {
      sink.onUpdate(await this.read(signal));
      let asked: (() => void)[] = [];
      for (;;) {
        await this.changedOrDue(signal);
        asked.push(...this.asking.splice(0));
        if (await this.lookAgain()) sink.onUpdate(this.update());
        if (this.tree.isAboutToChange) continue;
        for (const resolve of asked) resolve();
        asked = [];
      }
    } finally {
      watch.close();
    }
  }

  /**
   * Looks at everything, and resolves once that is handed over. A file that a process has open for writing counts as it was
   * before.
   */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.asking.push(resolve);
      this.isAnythingChanged = true;
      this.wakeUp();
    });
  }

  /** Looks at everything once, and again until nothing is about to change. */
  async read(signal?: AbortSignal): Promise<SourceUpdate> {
    const { clock } = this.deps;
    const sinceMs = clock.monotonic();
    const mayWait = (ms: number): boolean => clock.monotonic() - sinceMs < ms;
    this.isAnythingChanged = true;
    await this.lookAgain();
    while ((this.tree.isUnsettled && mayWait(firstListMs)) || (this.tree.isAboutToChange && mayWait(newRevisionMs))) {
      await clock.sleep(Math.max(0, this.tree.dueMs - clock.monotonic()), signal && { signal });
      await this.lookAgain();
    }
    await this.tree.endFirstList();
    return this.update();
  }

  private update(): SourceUpdate {
    return { source: 'file', where: this.where, ...this.tree.contents() };
  }

  private async changedOrDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    const dueMs = Math.min(this.rescanAtMs, this.tree.dueMs);
    const cancel = clock.after(Math.max(0, dueMs - clock.monotonic()), () => {
      this.wakeUp();
    });
    try {
      await this.wakeUps.pull(signal);
    } finally {
      cancel();
    }
  }

  private note({ file, how }: ManifestChange): void {
    this.changeCount += 1;
    if (file === undefined || this.changeCount > maxChanges) {
      this.isAnythingChanged = true;
      this.wakeUp();
      return;
    }
    // What was written in place counts as that, whatever else happened to it.
    this.changes.set(file, this.changes.get(file) === 'written' ? 'written' : how);
    // Whoever writes all the time does not keep us busy.
    const waits = how === 'written' && this.tree.isAwaited(file);
    if (!waits || this.tree.lookSoon(file)) this.wakeUp();
  }

  private wakeUp(): void {
    if (this.wakeUps.length === 0) this.wakeUps.push('changed');
  }

  /** False: nothing is new. */
  private async lookAgain(): Promise<boolean> {
    const now = this.deps.clock.monotonic();
    const changes = this.changes;
    this.changes = new Map([...changes].filter(([file, how]) => how === 'written' && this.tree.isAwaited(file)));
    for (const file of this.changes.keys()) changes.delete(file);
    this.changeCount = 0;
    if (!this.isAnythingChanged && !this.tree.isEverythingDue && now < this.rescanAtMs) {
      return this.tree.lookAtChanges(changes);
    }
    this.isAnythingChanged = false;
    this.rescanAtMs = now + this.deps.fileCheckFrequencyMs;
    await this.tree.lookAtEverything(changes);
    return true;
  }
}
