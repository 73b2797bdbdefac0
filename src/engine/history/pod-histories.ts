import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import type { PodRef } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { ContainerEnd, KubeletEvent } from '../view/events.ts';
import { formatHistory, type HistoryEntry, type HistoryLine } from './history-entry.ts';
import { appendHistory, historyPath, olderHalf, podOfHistoryFile, readHistory } from './history-file.ts';
import { historyOf, PodHistory } from './pod-history.ts';
import { historiesWithCounts } from './removed-pods.ts';

/** What happens within this time is one write. */
const batchMs = 1000;
/** A disk that is full is tried again after this. */
const retryMs = 30_000;
/** How much waits for a disk that takes nothing, for each pod. */
const maxUnwrittenLines = 200;
/** Pods that are gone and of which a history is kept; those that were gone longest lose theirs. */
const maxGonePods = 200;

interface Deps {
  folder: string;
  /** Texts that no history may hold: what a declared pod has in variables. */
  variablesOf: (podUID: string) => readonly string[] | undefined;
  /** A manifest declares a pod of this name. */
  isDeclared: (pod: PodName) => boolean;
  clock: Clock;
  logger: Logger;
}

interface Kept {
  path: string;
  history: PodHistory;
  /** Undefined once the past was read; until then what came since waits. */
  loading: Promise<void> | undefined;
  unwritten: HistoryLine[];
}

type PodName = Pick<PodRef, 'namespace' | 'name'>;

/**
 * What happened to pods, on the disk: the events, how containers ended, and how often they were restarted. It outlives the
 * agent, the runtime and the machine, and the pod itself.
 *
 * INVARIANTS: nothing waits for the disk but who asks for the past; one write at a time; a disk that takes nothing costs
 * the oldest lines and no more; no text of a Secret or a variable gets here.
 */
export class PodHistories {
  private readonly deps: Deps;
  /** By path. */
  private readonly kept = new Map<string, Kept>();
  /** By pod UID: what variables held, newest first. */
  private readonly variables = new Map<string, readonly (readonly string[])[]>();
  private writing: Promise<void> = Promise.resolve();
  private cancelTimer: (() => void) | undefined;
  private isFailing = false;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Takes what is worth keeping of an event. */
  readonly record = (event: KubeletEvent): void => {
    if (event.type === 'Recorded' && event.pod !== undefined) this.recordEvent({ ...event, pod: event.pod });
    if (event.type === 'ContainerDied' && event.end !== undefined) this.recordEnd({ ...event, end: event.end });
    if (event.type === 'WorkerStateChanged' && event.state === 'removed') this.release(event.pod);
  };

  /** The restart count that a new instance of this container has at least. */
  async nextRestartCount({ uid, ...pod }: PodRef, containerName: string): Promise<number> {
    const { history } = await this.loaded(pod);
    return history.nextRestartCount(uid, containerName);
  }

  /** An instance of this container was made. */
  containerCreated({ uid, ...pod }: PodRef, containerName: string, restartCount: number): void {
    this.write(pod, (history) => history.addRestarts(uid, containerName, restartCount));
  }

  /** Nothing is left of the pod of this UID. `pod` undefined: nobody knows its name. */
  podRemoved(uid: string, pod: PodName | undefined): void {
    if (pod === undefined) void this.removedWithoutName(uid);
    else this.writeRemoved(historyPath(this.deps.folder, pod), uid);
  }

  async entries(pod: PodName): Promise<HistoryEntry[]> {
    const { history } = await this.loaded(pod);
    return history.entries();
  }

  /** Writes what there is; resolves when it is written, or could not be. */
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
  }

  private recordEvent({ pod, at, eventType, reason, message, containerName }: RecordedOfPod): void {
    const event = { podUID: pod.uid, at, eventType, reason, message: this.cleared(pod.uid, message) };
    const single = containerName === undefined ? event : { ...event, containerName };
    this.write(pod, (history) => history.addEventOnce(single));
  }

  private recordEnd({ pod, id, containerName = '', end }: EndOfContainer): void {
    const message = this.cleared(pod.uid, end.message);
    const entry = { kind: 'end', podUID: pod.uid, containerName, containerID: id, ...end, message } as const;
    this.write(pod, (history) => history.addEnd(entry));
  }

  /** What variables of the pod held before, or until its manifest went, is hidden too. */
  private cleared(podUID: string, message: string): string {
    const texts = this.deps.variablesOf(podUID);
    const [last = [], before = []] = this.variables.get(podUID) ?? [];
    const isNew = texts !== undefined && !isDeepStrictEqual(texts, last);
    const known = isNew ? [texts, last] : [last, before];
    this.variables.set(podUID, known);
    return hideVariables(message, [...new Set(known.flat())]);
  }

  /** `change` is made once the past is known, and its line is written a little later. */
  private write(pod: PodName, change: (history: PodHistory) => HistoryLine | undefined): void {
    this.writeTo(historyPath(this.deps.folder, pod), change);
  }

  private writeTo(path: string, change: (history: PodHistory) => HistoryLine | undefined): void {
    const kept = this.keptAt(path);
    const apply = (): void => {
      const line = change(kept.history);
      if (line === undefined) return;
      kept.unwritten = [...kept.unwritten, line].slice(-maxUnwrittenLines);
      this.flushIn(this.isFailing ? retryMs : batchMs);
    };
    if (kept.loading === undefined) apply();
    else void kept.loading.then(apply);
  }

  private async loaded(pod: PodName): Promise<Kept> {
    const kept = this.keptAt(historyPath(this.deps.folder, pod));
    await kept.loading;
    return kept;
  }

  private keptAt(path: string): Kept {
    const known = this.kept.get(path);
    if (known !== undefined) return known;
    const kept: Kept = { path, history: new PodHistory(), loading: undefined, unwritten: [] };
    this.kept.set(path, kept);
    kept.loading = this.load(kept).finally(() => {
      kept.loading = undefined;
    });
    return kept;
  }

  /** A past that cannot be read is none; pods run without it. */
  private async load(kept: Kept): Promise<void> {
    const { path } = kept;
    try {
      kept.history = historyOf(await readHistory(path));
    } catch (error) {
      this.deps.logger.warn({ path, err: errorMessage(error) }, 'Reading the history of a pod failed');
    }
  }

  /** A pod that is gone is read again when it is asked for. */
  private release(pod: PodRef): void {
    this.variables.delete(pod.uid);
    const kept = this.kept.get(historyPath(this.deps.folder, pod));
    if (kept === undefined || kept.loading !== undefined) return;
    kept.unwritten.push(...kept.history.unwritten());
    void this.flush().then(() => {
      if (kept.unwritten.length === 0) this.kept.delete(kept.path);
    });
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
    for (const kept of [...this.kept.values()]) {
      const lines = kept.unwritten;
      if (lines.length === 0) continue;
      kept.unwritten = [];
      try {
        const carried = (): string => formatHistory(kept.history.restarts());
        await appendHistory(kept.path, formatHistory(lines), { carried, isToLast: lines.some(isToLast) });
        this.isFailing = false;
      } catch (error) {
        kept.unwritten = [...lines, ...kept.unwritten].slice(-maxUnwrittenLines);
        if (!this.isFailing) logger.warn({ folder, err: errorMessage(error) }, 'Writing the history of pods failed');
        this.isFailing = true;
        this.flushIn(retryMs);
        return;
      }
    }
    await this.prune();
  }

  private async prune(): Promise<void> {
    const { folder, isDeclared, logger } = this.deps;
    try {
      const inUse = new Set([...this.kept.keys()].map((path) => basename(path)));
      const gone = (await readdir(folder)).filter((name) => {
        if (inUse.has(name)) return false;
        const pod = podOfHistoryFile(name);
        return pod !== undefined && !isDeclared(pod);
      });
      if (gone.length <= maxGonePods) return;
      const aged = gone.map(async (name) => ({
        path: join(folder, name),
        at: (await stat(join(folder, name))).mtimeMs,
      }));
      const oldest = (await Promise.all(aged)).sort((a, b) => a.at - b.at).slice(0, gone.length - maxGonePods);
      for (const { path } of oldest) {
        await rm(olderHalf(path), { force: true });
        await rm(path, { force: true });
      }
    } catch (error) {
      logger.warn({ folder, err: errorMessage(error) }, 'Removing old histories of pods failed');
    }
  }
}

type RecordedOfPod = Extract<KubeletEvent, { type: 'Recorded' }> & { pod: PodRef };
type EndOfContainer = Extract<KubeletEvent, { id: string }> & { end: ContainerEnd };

/** Ends and restart counts are what power loss must not take; they are rare enough to be synced. */
function isToLast(line: HistoryLine): boolean {
  return line.kind === 'end' || (line.kind === 'restarts' && Object.values(line.counts).some((count) => count > 0));
}

/** Shorter texts are found everywhere by chance. */
const minVariableLength = 8;
/** How much of one message is kept. */
const maxMessageLength = 1024;

/** The message, of bearable length and with none of these texts in it. */
export function hideVariables(message: string, variables: readonly string[]): string {
  // The longest first: one may be a part of another.
  const ordered = variables.toSorted((a, b) => b.length - a.length);
  const hidden = ordered.reduce((text, variable) => text.replaceAll(variable, '<hidden>'), message);
  return hidden.length <= maxMessageLength ? hidden : `${hidden.slice(0, maxMessageLength)}…`;
}

/** What the variables of this pod hold. Values of Secrets are hidden in events before (engine/outgoing). */
export function variableTexts({ metadata, spec }: Pod): string[] {
  const { initContainers = [], containers, volumes = [] } = spec;
  const all = [...initContainers, ...containers];
  // What is a name as well, as of a database and its container, would take the sense from every message.
  const names = [metadata, ...all, ...volumes].map(({ name }) => name);
  const shown = [...names, ...all.map(({ image = '' }) => image)].join(' ');
  const values = all.flatMap(({ env = [] }) => env.map(({ value = '' }) => value));
  return [...new Set(values.filter((text) => text.length >= minVariableLength && !shown.includes(text)))];
}
