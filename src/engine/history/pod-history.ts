import {
  type EndEntry,
  type EventEntry,
  type HistoryEntry,
  type HistoryLine,
  parseHistory,
  type RestartsLine,
} from './history-entry.ts';

/** How much of each is kept. */
const maxEvents = 64;
const maxEnds = 32;
const maxRevisions = 8;

/** Events of one kind that come this long after the last of them are told apart. */
const quietMs = 3_600_000;
/** A kind that goes on and on is written this often at least. */
const rewriteMs = 600_000;

/** An event that happened once. */
export type SingleEvent = Omit<EventEntry, 'kind' | 'count' | 'firstAt' | 'lastAt'> & { at: number };

/**
 * The past of all revisions of one pod. It only grows by lines; replaying those that were handed out gives the same past.
 * What comes again and again is not a line each time: counts are exact here, and on the disk within ten minutes.
 */
export class PodHistory {
  private events: EventEntry[] = [];
  private ends: EndEntry[] = [];
  /** By UID. */
  private readonly counts = new Map<string, Record<string, number>>();
  /** Of kinds of events: when they were written last, and with which count. */
  private readonly written = new WeakMap<EventEntry, { at: number; count: number }>();

  /** Events in the order of their last time, and ends in the order in which they came. */
  entries(): HistoryEntry[] {
    return [...this.events.toSorted((a, b) => a.lastAt - b.lastAt), ...this.ends];
  }

  /** What no line tells yet, for when there will be no more. */
  unwritten(): EventEntry[] {
    return this.events.filter((entry) => this.written.get(entry)?.count !== entry.count);
  }

  /** The restart count that the next instance of this container has at least; 0 when nothing is known. */
  nextRestartCount(podUID: string, containerName: string): number {
    const last = this.counts.get(podUID)?.[containerName];
    return last === undefined ? 0 : last + 1;
  }

  /** True: a container of this UID was made, and the pod was not removed since. */
  hasCounts(podUID: string): boolean {
    return this.counts.has(podUID);
  }

  /** What the next file has to begin with. */
  restarts(): RestartsLine[] {
    return [...this.counts].map(([podUID, counts]) => ({ kind: 'restarts', podUID, counts }));
  }

  /** Takes up a line that was written earlier. */
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

  /** The line to write for it, if any. */
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

  /** The line to write for it; undefined when it is known, as after a restart of the agent. */
  addEnd(end: EndEntry): EndEntry | undefined {
    if (this.ends.some(({ containerID }) => containerID === end.containerID)) return undefined;
    this.ends = [...this.ends, end].slice(-maxEnds);
    return end;
  }

  /** The line to write for it; undefined when it is no news. */
  addRestarts(podUID: string, containerName: string, count: number): RestartsLine | undefined {
    if (!this.raise(podUID, containerName, count)) return undefined;
    return { kind: 'restarts', podUID, counts: { [containerName]: count } };
  }

  private raise(podUID: string, containerName: string, count: number): boolean {
    const counts = this.counts.get(podUID) ?? {};
    if ((counts[containerName] ?? -1) >= count) return false;
    // The revision that is used goes to the end of the line.
    this.counts.delete(podUID);
    this.counts.set(podUID, { ...counts, [containerName]: count });
    for (const uid of [...this.counts.keys()].slice(0, -maxRevisions)) this.counts.delete(uid);
    return true;
  }

  private addEvent(entry: EventEntry): void {
    this.events = [...this.events, entry].slice(-maxEvents);
  }
}

/** What differs behind the first colon, such as the output of a probe, is of one kind. */
function isSameKind(a: Omit<EventEntry, 'kind' | 'count' | 'firstAt' | 'lastAt'>, b: typeof a): boolean {
  return (
    a.podUID === b.podUID &&
    a.reason === b.reason &&
    a.eventType === b.eventType &&
    a.containerName === b.containerName &&
    a.message.split(':', 1)[0] === b.message.split(':', 1)[0]
  );
}

/** The past as the lines of a file tell it. */
export function historyOf(text: string): PodHistory {
  const history = new PodHistory();
  for (const line of parseHistory(text)) history.replay(line);
  return history;
}
