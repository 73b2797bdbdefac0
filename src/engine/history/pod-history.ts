import {
  type EndEntry,
  type EventEntry,
  type HistoryEntry,
  type HistoryLine,
  parseHistory,
  type RestartsLine,
} from './history-entry.ts';

/** How many events and exits are kept. */
const maxEvents = 64;
const maxEnds = 32;
const maxRevisions = 8;

/** After this time without an event of its kind, the next event gets a new entry. */
const quietMs = 3_600_000;
/** Longest time between two writes of an event that keeps recurring. */
const rewriteMs = 600_000;

/** An event that happened once. */
export type SingleEvent = Omit<EventEntry, 'kind' | 'count' | 'firstAt' | 'lastAt'> & { at: number };

/**
 * The past of all revisions of one pod, rebuilt by replaying its lines. A recurring event does not write a line each
 * time. Its count is exact in memory, and at most ten minutes old on disk.
 */
export class PodHistory {
  private events: EventEntry[] = [];
  private ends: EndEntry[] = [];
  /** By UID. */
  private readonly counts = new Map<string, Record<string, number>>();
  /** Time and count in the last written line of each kind of event. */
  private readonly written = new WeakMap<EventEntry, { at: number; count: number }>();

  /** Returns events ordered by their last time, then exits in the order of arrival. */
  entries(): HistoryEntry[] {
    return [...this.events.toSorted((a, b) => a.lastAt - b.lastAt), ...this.ends];
  }

  /** Returns events whose count on disk is out of date, for the last write. */
  unwritten(): EventEntry[] {
    return this.events.filter((entry) => this.written.get(entry)?.count !== entry.count);
  }

  /** Returns the lowest restart count for the next instance of this container. Returns 0 if none is recorded. */
  nextRestartCount(podUID: string, containerName: string): number {
    const last = this.counts.get(podUID)?.[containerName];
    return last === undefined ? 0 : last + 1;
  }

  /** True if a container of a pod with this UID was created, and the pod was not removed since. */
  hasCounts(podUID: string): boolean {
    return this.counts.has(podUID);
  }

  /** True if this past includes a pod with this UID. */
  hasRevision(podUID: string): boolean {
    return this.counts.has(podUID) || this.entries().some((entry) => entry.podUID === podUID);
  }

  /** Returns the lines that begin a new file. */
  restarts(): RestartsLine[] {
    return [...this.counts].map(([podUID, counts]) => ({ kind: 'restarts', podUID, counts }));
  }

  /** Applies a line that was written earlier. */
  replay(line: HistoryLine): void {
    switch (line.kind) {
      case 'event': {
        const again = this.events.findIndex((entry) => isSameKind(entry, line) && entry.firstAt === line.firstAt);
        if (again >= 0) this.events.splice(again, 1);
        this.addEvent(line);
        this.written.set(line, { at: line.lastAt, count: line.count });
        return;
      }
      case 'end':
        this.addEnd(line);
        return;
      case 'restarts':
        for (const [name, count] of Object.entries(line.counts)) this.raise(line.podUID, name, count);
        return;
      case 'removed':
        this.counts.delete(line.podUID);
        return;
    }
  }

  /** Returns the line to write, or undefined if none is due. */
  addEventOnce({ at, ...event }: SingleEvent): EventEntry | undefined {
    let entry = this.events.findLast((known) => isSameKind(known, event) && at - known.lastAt < quietMs);
    if (entry === undefined) {
      entry = { kind: 'event', ...event, count: 1, firstAt: at, lastAt: at };
      this.addEvent(entry);
    } else {
      entry.count += 1;
      entry.lastAt = at;
      entry.message = event.message;
    }
    const written = this.written.get(entry);
    const isDue = written === undefined || entry.count >= 2 * written.count || at - written.at >= rewriteMs;
    if (!isDue) return undefined;
    this.written.set(entry, { at, count: entry.count });
    return { ...entry };
  }

  /** Returns the line to write, or undefined if the exit is already recorded. */
  addEnd(end: EndEntry): EndEntry | undefined {
    if (this.ends.some(({ containerID }) => containerID === end.containerID)) return undefined;
    this.ends = [...this.ends, end].slice(-maxEnds);
    return end;
  }

  /** Returns the line to write, or undefined if the count is not higher than before. */
  addRestarts(podUID: string, containerName: string, count: number): RestartsLine | undefined {
    if (!this.raise(podUID, containerName, count)) return undefined;
    return { kind: 'restarts', podUID, counts: { [containerName]: count } };
  }

  private raise(podUID: string, containerName: string, count: number): boolean {
    const counts = this.counts.get(podUID) ?? {};
    if ((counts[containerName] ?? -1) >= count) return false;
    // Moves the current revision to the end, so that it is dropped last.
    this.counts.delete(podUID);
    this.counts.set(podUID, { ...counts, [containerName]: count });
    for (const uid of [...this.counts.keys()].slice(0, -maxRevisions)) this.counts.delete(uid);
    return true;
  }

  private addEvent(entry: EventEntry): void {
    this.events = [...this.events, entry].slice(-maxEvents);
  }
}

/** Messages that differ only after the first colon, for example in a probe's output, count as one kind. */
function isSameKind(a: Omit<EventEntry, 'kind' | 'count' | 'firstAt' | 'lastAt'>, b: typeof a): boolean {
  return (
    a.podUID === b.podUID &&
    a.reason === b.reason &&
    a.eventType === b.eventType &&
    a.containerName === b.containerName &&
    a.job === b.job &&
    a.message.split(':', 1)[0] === b.message.split(':', 1)[0]
  );
}

/** Replays the lines of a history file. */
export function historyOf(text: string): PodHistory {
  const history = new PodHistory();
  for (const line of parseHistory(text)) history.replay(line);
  return history;
}
