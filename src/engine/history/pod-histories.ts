import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { PodName, PodRef } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode, UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { setAside } from '../../files/set-aside.ts';
import type { ContainerEnd, KubeletEvent } from '../view/events.ts';
import {
  countDamagedLines,
  formatHistory,
  type HistoryEntry,
  type HistoryLine,
  parseHistory,
} from './history-entry.ts';
import { hideVariables } from './hide-variables.ts';
import {
  appendHistory,
  historyPath,
  isObjectHistory,
  objectHistory,
  olderHalf,
  ownerOfHistoryFile,
  readHistory,
  syncHistory,
} from './history-file.ts';
import { historyOf, PodHistory } from './pod-history.ts';
import { historiesWithCounts, podsWithHistory } from './removed-pods.ts';

/** Lines that arrive within this time are written and synced together. Restart counts are written at once. */
const batchMs = 1000;
/** Delay before a failed write is retried. */
const retryMs = 30_000;
/** How many lines of each pod stay in memory while writes fail. */
const maxUnwrittenLines = 200;
/**
 * How many removed pods keep their history, and how many objects. Beyond that, the histories that were written
 * longest ago are deleted.
 */
const maxUnusedHistories = 200;

interface Deps {
  folder: string;
  /** Returns the values of a declared pod's variables. No history may contain them. */
  variablesOf: (podUID: string) => readonly string[] | undefined;
  /** True if a manifest declares a pod of this name. */
  isDeclared: (pod: PodName) => boolean;
  clock: Clock;
  logger: Logger;
}

interface Kept {
  path: string;
  history: PodHistory;
  /** The read of the past, while it is in progress. New lines wait for it. Undefined once done. */
  loading: Promise<void> | undefined;
  /** Changes that wait for this read. */
  waiting: (() => void)[];
  unwritten: HistoryLine[];
  /** The newest append to the file. The next one follows it. */
  appending: Promise<void>;
  /** True if the file has lines that must still be synced to survive a power loss. */
  isToSync: boolean;
  /** True if it is dropped from memory once all of it is on disk. */
  isReleased: boolean;
}

/**
 * The past of pods on disk: events, container exits and restart counts. It survives the pod, and restarts of the agent,
 * the runtime and the machine.
 *
 * INVARIANTS: only readers of the past and container starts wait for the disk. A start waits for an append, not for a
 * sync. Each file has one append at a time. If the disk fails, only the oldest lines are lost. No value of a Secret or
 * a variable is written. A removed pod is dropped from memory, because the files of pods in memory are not pruned.
 */
export class PodHistories {
  /** By path. */
  private readonly kept = new Map<string, Kept>();
  /** Files whose damage was reported. */
  private readonly damaged = new Set<string>();
  /** Values of the variables by pod UID, newest set first. */
  private readonly variables = new Map<string, readonly (readonly string[])[]>();
  private writing: Promise<void> = Promise.resolve();
  private cancelTimer: (() => void) | undefined;
  private isFailing = false;

  constructor(private readonly deps: Deps) {}

  /** Records an event if the history keeps events of its kind. */
  readonly record = (event: KubeletEvent): void => {
    if (event.type === 'Recorded') {
      const { pod, object } = event;
      if (pod !== undefined) this.recordEvent({ ...event, pod });
      if (object !== undefined) this.recordOfObject({ ...event, pod: { ...objectHistory(object), uid: '' } });
    }
    if (event.type === 'ContainerDied' && event.end !== undefined) this.recordEnd({ ...event, end: event.end });
    if (event.type === 'WorkerStateChanged' && event.state === 'removed') this.workerRemoved(event.pod);
  };

  /** Returns the lowest restart count that a new instance of this container may have. */
  async nextRestartCount({ uid, ...pod }: PodRef, containerName: string): Promise<number> {
    const { history } = await this.loaded(pod);
    return history.nextRestartCount(uid, containerName);
  }

  /**
   * Records that an instance of this container was created. Resolves once the record would survive a crash of this
   * process. Resolves at once while the disk fails.
   */
  async containerCreated({ uid, ...pod }: PodRef, containerName: string, restartCount: number): Promise<void> {
    this.write(pod, (history) => history.addRestarts(uid, containerName, restartCount));
    const kept = await this.loaded(pod);
    // The batch write reports an error.
    if (!this.isFailing) await this.append(kept).catch(() => undefined);
  }

  /** Records that everything of the pod with this UID was removed. `pod` is undefined if its name is unknown. */
  podRemoved(uid: string, pod: PodName | undefined): void {
    if (pod === undefined) void this.removedWithoutName(uid);
    else this.writeRemoved(historyPath(this.deps.folder, pod), uid);
  }

  /** True if the history of this pod has its UID, so an agent of this root-dir ran it. Keeps nothing in memory. */
  async hasRevision({ uid, ...pod }: PodRef): Promise<boolean> {
    const path = historyPath(this.deps.folder, pod);
    const kept = this.kept.get(path);
    await kept?.loading;
    const history = kept?.history ?? historyOf(await readHistory(path));
    return history.hasRevision(uid);
  }

  /** Returns the UIDs of those pods that an agent of this root-dir ran. Rejects with the file system's error. */
  ownAmong(podUIDs: readonly string[]): Promise<Set<string>> {
    return podsWithHistory(this.deps.folder, podUIDs);
  }

  /** Empty if the past cannot be read. Keeps nothing in memory. */
  async entries(pod: PodName): Promise<HistoryEntry[]> {
    const path = historyPath(this.deps.folder, pod);
    const kept = this.kept.get(path);
    await kept?.loading;
    const history = kept?.history ?? (await this.read(path));
    return history.entries();
  }

  /** Writes all pending lines. Resolves even if the write failed. */
  async close(): Promise<void> {
    for (const kept of this.kept.values()) {
      await kept.loading;
      kept.unwritten.push(...kept.history.unwritten());
    }
    await this.flush();
    this.cancelTimer?.();
  }

  private async removedWithoutName(uid: string): Promise<void> {
    const { folder, logger } = this.deps;
    const loaded = [...this.kept.values()].filter(({ history }) => history.hasCounts(uid)).map(({ path }) => path);
    try {
      for (const path of loaded.length > 0 ? loaded : await historiesWithCounts(folder, uid)) {
        this.writeRemoved(path, uid);
      }
    } catch (error) {
      logger.warn({ folder, err: errorMessage(error) }, 'Reading the histories of pods failed');
    }
  }

  private writeRemoved(path: string, podUID: string): void {
    this.writeTo(path, (history) => {
      const line = { kind: 'removed', podUID } as const;
      history.replay(line);
      return line;
    });
    // Its worker may have finished long ago.
    this.release(path);
  }

  private recordEvent({ pod, at, eventType, reason, message, containerName, job, cause }: RecordedOfPod): void {
    const event = { podUID: pod.uid, at, eventType, reason, message: this.cleared(pod.uid, message) };
    const of = { ...(containerName !== undefined && { containerName }), ...(job !== undefined && { job }) };
    this.write(pod, (history) => history.addEventOnce({ ...event, ...of, ...(cause && { cause }) }));
  }

  /** No removal of a pod tells when an object's history may be dropped from memory. */
  private recordOfObject(event: RecordedOfPod): void {
    this.recordEvent(event);
    this.release(historyPath(this.deps.folder, event.pod));
  }

  private recordEnd({ pod, id, containerName = '', end }: EndOfContainer): void {
    const message = this.cleared(pod.uid, end.message);
    const entry = { kind: 'end', podUID: pod.uid, containerName, containerID: id, ...end, message } as const;
    this.write(pod, (history) => history.addEnd(entry));
  }

  /**
   * Returns the message, cut to 1,024 characters, with the current and previous values of the pod's variables redacted,
   * even after its manifest was removed.
   */
  cleared(podUID: string, message: string): string {
    const texts = this.deps.variablesOf(podUID);
    const [last = [], before = []] = this.variables.get(podUID) ?? [];
    const isNew = texts !== undefined && !isDeepStrictEqual(texts, last);
    const known = isNew ? [texts, last] : [last, before];
    if (isNew) this.variables.set(podUID, known);
    return hideVariables(message, [...new Set(known.flat())]);
  }

  /** Applies `change` once the past is loaded. Its line is written a little later. */
  private write(pod: PodName, change: (history: PodHistory) => HistoryLine | undefined): void {
    this.writeTo(historyPath(this.deps.folder, pod), change);
  }

  private writeTo(path: string, change: (history: PodHistory) => HistoryLine | undefined): void {
    const kept = this.keptAt(path);
    whenLoaded(kept, () => {
      const line = change(kept.history);
      if (line === undefined) return;
      kept.unwritten = [...kept.unwritten, line].slice(-maxUnwrittenLines);
      this.flushLater();
    });
  }

  private async loaded(pod: PodName): Promise<Kept> {
    const kept = this.keptAt(historyPath(this.deps.folder, pod));
    await kept.loading;
    return kept;
  }

  private keptAt(path: string): Kept {
    const known = this.kept.get(path);
    if (known !== undefined) return known;
    const kept: Kept = {
      path,
      history: new PodHistory(),
      loading: undefined,
      waiting: [],
      unwritten: [],
      appending: Promise.resolve(),
      isToSync: false,
      isReleased: false,
    };
    this.kept.set(path, kept);
    kept.loading = this.load(kept);
    return kept;
  }

  private async load(kept: Kept): Promise<void> {
    kept.history = await this.read(kept.path);
    kept.loading = undefined;
    for (const change of kept.waiting.splice(0)) change();
  }

  /** An unreadable past counts as empty, so that pods run without it. */
  private async read(path: string): Promise<PodHistory> {
    const { logger } = this.deps;
    try {
      const text = await readHistory(path);
      const lines = countDamagedLines(text);
      if (lines > 0) await this.reportDamage(path, { text, lines });
      return historyOf(text);
    } catch (error) {
      // A pipe, a link or a file of megabytes would also refuse new lines.
      if (error instanceof UserError) await setAside(path, errorMessage(error), logger);
      else logger.warn({ path, err: errorMessage(error) }, 'Reading the history of a pod failed');
      return new PodHistory();
    }
  }

  /**
   * Reports damage once per file. If a file has no valid line, it is renamed. Otherwise its damaged lines are skipped.
   */
  private async reportDamage(path: string, { text, lines }: { text: string; lines: number }): Promise<void> {
    if (this.damaged.has(path)) return;
    this.damaged.add(path);
    const { logger } = this.deps;
    if (parseHistory(text).length === 0) await setAside(path, `${lines} damaged lines`, logger);
    else logger.warn({ path, lines }, 'Damaged lines in the history of a pod are left out');
  }

  private workerRemoved(pod: PodRef): void {
    this.variables.delete(pod.uid);
    this.release(historyPath(this.deps.folder, pod));
  }

  /** Drops a history from memory after the next write. A later event loads it again. */
  private release(path: string): void {
    const kept = this.kept.get(path);
    if (kept === undefined) return;
    whenLoaded(kept, () => {
      kept.unwritten.push(...kept.history.unwritten());
      kept.isReleased = true;
      this.flushLater();
    });
  }

  private flushLater(): void {
    this.flushIn(this.isFailing ? retryMs : batchMs);
  }

  private flushIn(ms: number): void {
    this.cancelTimer ??= this.deps.clock.after(ms, () => {
      void this.flush();
    });
  }

  private flush(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.writing = this.writing.then(() => this.writeAll());
    return this.writing;
  }

  private async writeAll(): Promise<void> {
    const { logger, folder } = this.deps;
    try {
      for (const kept of [...this.kept.values()]) {
        const appended = this.append(kept);
        await appended;
        await this.sync(kept);
        const isOnDisk = kept.unwritten.length === 0 && kept.appending === appended;
        if (kept.isReleased && isOnDisk) this.kept.delete(kept.path);
      }
    } catch (error) {
      if (!this.isFailing) logger.warn({ folder, err: errorMessage(error) }, 'Writing the history of pods failed');
      this.isFailing = true;
      this.flushIn(retryMs);
      return;
    }
    this.isFailing = false;
    await this.prune();
  }

  private append(kept: Kept): Promise<void> {
    kept.appending = kept.appending.catch(() => undefined).then(() => this.appendUnwritten(kept));
    return kept.appending;
  }

  private async appendUnwritten(kept: Kept): Promise<void> {
    const lines = kept.unwritten;
    if (lines.length === 0) return;
    kept.unwritten = [];
    try {
      await appendHistory(kept.path, formatHistory(lines), () => formatHistory(kept.history.restarts()));
      kept.isToSync ||= lines.some(isToLast);
    } catch (error) {
      kept.unwritten = [...lines, ...kept.unwritten].slice(-maxUnwrittenLines);
      throw error;
    }
  }

  private async sync(kept: Kept): Promise<void> {
    if (!kept.isToSync) return;
    kept.isToSync = false;
    try {
      await syncHistory(kept.path);
    } catch (error) {
      kept.isToSync = true;
      throw error;
    }
  }

  private async prune(): Promise<void> {
    const { folder, isDeclared, logger } = this.deps;
    try {
      const inUse = new Set([...this.kept.keys()].map((path) => basename(path)));
      const names = (await readdir(folder)).filter((name) => !inUse.has(name));
      const owned = names.flatMap((name) => {
        const owner = ownerOfHistoryFile(name);
        return owner === undefined ? [] : [{ name, owner, isObject: isObjectHistory(owner) }];
      });
      const ofObjects = owned.filter(({ isObject }) => isObject);
      const ofRemovedPods = owned.filter(({ isObject, owner }) => !isObject && !isDeclared(owner));
      for (const unused of [ofRemovedPods, ofObjects])
        await dropOldest(
          folder,
          unused.map(({ name }) => name),
        );
    } catch (error) {
      // No pod has a history yet.
      if (hasCode(error, 'ENOENT')) return;
      logger.warn({ folder, err: errorMessage(error) }, 'Removing old histories of pods failed');
    }
  }
}

/** Deletes the histories that were written longest ago, except the newest `maxUnusedHistories`. */
async function dropOldest(folder: string, names: readonly string[]): Promise<void> {
  if (names.length <= maxUnusedHistories) return;
  const aged = names.map(async (name) => ({ path: join(folder, name), at: (await stat(join(folder, name))).mtimeMs }));
  const oldest = (await Promise.all(aged)).sort((a, b) => a.at - b.at).slice(0, names.length - maxUnusedHistories);
  for (const { path } of oldest) {
    await rm(olderHalf(path), { force: true });
    await rm(path, { force: true });
  }
}

/** Applies a change at once, or as soon as the past is loaded. */
function whenLoaded(kept: Kept, change: () => void): void {
  if (kept.loading === undefined) change();
  else kept.waiting.push(change);
}

type RecordedOfPod = Extract<KubeletEvent, { type: 'Recorded' }> & { pod: PodRef };
type EndOfContainer = Extract<KubeletEvent, { id: string }> & { end: ContainerEnd };

/** True for lines that must survive a power loss: exits and restart counts. They are rare enough to sync each one. */
function isToLast(line: HistoryLine): boolean {
  return line.kind === 'end' || (line.kind === 'restarts' && Object.values(line.counts).some((count) => count > 0));
}
