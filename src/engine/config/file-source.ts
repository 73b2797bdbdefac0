import type { Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { AsyncQueue } from '../async-queue.ts';
import type { ManifestProblem } from '../events.ts';
import { podFullName } from '../pod-names.ts';
import { ignoredBecause } from './manifest-file-name.ts';
import type { LastGoodManifests } from './last-good-manifests.ts';
import { ManifestWatch } from './manifest-watch.ts';
import { fingerprintOf, loadManifest, type ManifestRead, readManifestFile } from './manifest-file.ts';
import type { PodSource, SourceUpdate } from './pod-source.ts';

/** A file that is being written is read once nothing was written to it for this long, so that no half of it is acted on. */
const settleMs = 10;
/** A file whose last write is longer ago than this is not being written now. */
const writtenLongAgoMs = 1000;
/** How often a file of the first list is tried before the others go on without it: for some ten seconds. */
const maxTries = 1000;
/** Open files while a folder is read. */
const maxParallelReads = 16;

interface Deps {
  /** Files or folders of manifests. */
  paths: readonly string[];
  nodeName: string;
  /** Milliseconds between full rescans. kubelet: fileCheckFrequency */
  fileCheckFrequencyMs: number;
  clock: Clock;
  logger: Logger;
  /** Where the last good revision of every file is kept; undefined: nowhere. */
  lastGood?: LastGoodManifests;
}

interface FileEntry extends ManifestRead {
  /** The newest revision that was good; it stands while the file is broken. */
  lastGood: Pod | undefined;
}

/**
 * Pods from files and folders of manifests: read at once, whenever the watcher says that something changed, and every
 * `fileCheckFrequency`. kubelet: config/file.go
 *
 * INVARIANTS: a file is parsed again only when its fingerprint changed; a file that became bad keeps the pod it declared
 * last; a file that is gone takes its pod with it; of two files with one pod name the one seen first stands; a file that is
 * being written keeps no other one waiting, but for the first list, which must be complete.
 */
export class FileSource implements PodSource {
  readonly source = 'file';
  readonly where: string;
  private readonly deps: Deps;
  /** By path, in the order in which the files were first seen. */
  private readonly files = new Map<string, FileEntry>();
  private readonly wakeUps = new AsyncQueue<'changed'>();
  private readonly reads = pLimit(maxParallelReads);
  private folderProblems: ManifestProblem[] = [];
  /** Every file was read once. */
  private isComplete = false;

  constructor(deps: Deps) {
    this.deps = { ...deps, paths: deps.paths.map((path) => path.replace(/(?<=.)\/+$/, '')) };
    this.where = this.deps.paths.join(', ');
  }

  async run(sink: Parameters<PodSource['run']>[0], signal: AbortSignal): Promise<void> {
    const { paths, logger } = this.deps;
    const onChange = (): void => {
      this.wakeUp();
    };
    const watch = new ManifestWatch({ paths, onChange, logger });
    try {
      for (;;) {
        await watch.refresh();
        sink.onUpdate(await this.read());
        await this.changedOrDue(signal);
      }
    } finally {
      await watch.close();
    }
  }

  /** Looks at everything once. */
  async read(): Promise<SourceUpdate> {
    this.folderProblems = [];
    const found: string[] = [];
    for (const path of this.deps.paths) found.push(...(await this.manifestsAt(path)));
    const paths = [...new Set(found)];
    const entries = await Promise.all(paths.map((path) => this.look(path)));
    const present = new Set(paths.filter((_path, index) => entries[index] !== undefined));
    for (const path of this.files.keys()) {
      if (present.has(path)) continue;
      this.files.delete(path);
      void this.deps.lastGood?.forget('file', path);
    }
    for (const [index, path] of paths.entries()) {
      const entry = entries[index];
      if (entry !== undefined) this.files.set(path, entry);
    }
    this.isComplete = true;
    return this.current();
  }

  private wakeUp(): void {
    if (this.wakeUps.length === 0) this.wakeUps.push('changed');
  }

  private async changedOrDue(signal: AbortSignal): Promise<void> {
    const due = this.deps.clock.after(this.deps.fileCheckFrequencyMs, () => {
      this.wakeUp();
    });
    try {
      await this.wakeUps.pull(signal);
    } finally {
      due();
    }
  }

  /** The manifest files at a path that may be a file or a folder. */
  private async manifestsAt(path: string): Promise<string[]> {
    let stats: Stats;
    try {
      stats = await stat(path);
    } catch (error) {
      const missing = hasCode(error, 'ENOENT');
      this.complain(path, missing ? 'path does not exist' : errorMessage(error), {
        hint: missing ? 'Create the file or folder; it is read as soon as it is there.' : 'Check its permissions.',
      });
      // What cannot be looked at says nothing about its pods; only what is gone takes them along.
      return missing ? [] : this.knownBelow(path);
    }
    if (!stats.isDirectory()) return [path];
    try {
      const names = (await readdir(path)).sort();
      return names.map((name) => join(path, name)).filter((file) => this.isManifest(file));
    } catch (error) {
      this.complain(path, errorMessage(error), { hint: 'Check its permissions.' });
      return this.knownBelow(path);
    }
  }

  private knownBelow(path: string): string[] {
    return [...this.files.keys()].filter((file) => file === path || dirname(file) === path);
  }

  private isManifest(file: string): boolean {
    const ignored = ignoredBecause(file);
    if (ignored === undefined) return true;
    this.complain(file, `ignored: ${ignored}`, { severity: 'warning' });
    return false;
  }

  /** What the file says now; undefined when there is none, or none that is finished. */
  private async look(path: string): Promise<FileEntry | undefined> {
    const known = this.files.get(path);
    try {
      const read = await this.readWhole(path, known?.fingerprint);
      if (read === 'unchanged') return known;
      if (read === 'in writing') {
        this.wakeUp();
        return known;
      }
      const lastGood = read.pod ?? known?.lastGood ?? (known === undefined ? await this.loadLastGood(path) : undefined);
      if (read.pod !== undefined && read.bytes !== undefined) void this.deps.lastGood?.save('file', path, read.bytes);
      return { fingerprint: read.fingerprint, pod: read.pod, problems: read.problems, lastGood };
    } catch (error) {
      if (hasCode(error, 'ENOENT')) {
        if (await isLink(path)) this.complain(path, 'is a link to nothing', { severity: 'warning' });
        return undefined;
      }
      const problem: ManifestProblem = { origin: path, severity: 'error', message: errorMessage(error) };
      return { fingerprint: '', pod: undefined, problems: [problem], lastGood: known?.lastGood };
    }
  }

  /** What the file declared before this life began. */
  private async loadLastGood(path: string): Promise<Pod | undefined> {
    const saved = await this.deps.lastGood?.load('file', path);
    return saved && loadManifest(saved.body, path, this.deps.nodeName).pod;
  }

  private async readWhole(path: string, known: string | undefined): Promise<ManifestRead | 'unchanged' | 'in writing'> {
    const { clock, nodeName } = this.deps;
    for (let tries = 1; ; tries++) {
      const before = await stat(path);
      const fingerprint = fingerprintOf(before);
      if (fingerprint === known) return 'unchanged';
      if (mayBeInWriting(before, clock.now())) await clock.sleep(settleMs);
      if (fingerprintOf(await stat(path)) === fingerprint) {
        const read = await this.reads(() => readManifestFile(path, nodeName));
        if (fingerprintOf(await stat(path)) === fingerprint) return read;
      }
      if (this.isComplete || tries >= maxTries) return 'in writing';
    }
  }

  private current(): SourceUpdate {
    const pods: Pod[] = [];
    const problems = [...this.folderProblems];
    const owners = new Map<string, string>();
    for (const [path, { pod, lastGood, problems: own }] of this.files) {
      problems.push(...own);
      const declared = pod ?? lastGood;
      if (declared === undefined) continue;
      if (pod === undefined) {
        problems.push({
          origin: path,
          severity: 'warning',
          message: `the last good revision of pod ${declared.metadata.namespace}/${declared.metadata.name} still runs`,
        });
      }
      const owner = owners.get(podFullName(declared));
      if (owner !== undefined) {
        problems.push({
          origin: path,
          severity: 'error',
          field: 'metadata.name',
          message: `pod ${declared.metadata.namespace}/${declared.metadata.name} is declared by ${owner} already`,
          hint: 'Give one of them another name.',
        });
        continue;
      }
      owners.set(podFullName(declared), path);
      pods.push(declared);
    }
    return { source: 'file', where: this.where, pods, problems };
  }

  private complain(origin: string, message: string, more: Partial<ManifestProblem> = {}): void {
    this.folderProblems.push({ origin, message, severity: 'error', ...more });
  }
}

/**
 * False when the file is known to be finished. A write stamps the content and the inode with one time; only what comes
 * after the last write, such as a rename into the folder, leaves the inode with a later one.
 */
function mayBeInWriting({ size, mtimeMs, ctimeMs }: Stats, now: number): boolean {
  if (Math.abs(now - mtimeMs) > writtenLongAgoMs) return false;
  return size === 0 || ctimeMs <= mtimeMs;
}

/** False for what has gone, too. */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}
