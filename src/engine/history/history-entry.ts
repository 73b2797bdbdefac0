import type { ContainerEnd, EventCause } from '../view/events.ts';

/** Events of one kind, counted like `kubectl describe` does. */
export interface EventEntry {
  kind: 'event';
  podUID: string;
  eventType: 'Normal' | 'Warning';
  /** One of reasons.ts. */
  reason: string;
  /** The message of the newest event. */
  message: string;
  containerName?: string;
  /** In the history of a CronJob, the name of the Job that has the event. Absent for those of the CronJob itself. */
  job?: string;
  cause?: EventCause;
  count: number;
  /** Milliseconds since the epoch, like every `…At` here. */
  firstAt: number;
  lastAt: number;
}

/** How one instance of a container exited. */
export interface EndEntry extends ContainerEnd {
  kind: 'end';
  podUID: string;
  containerName: string;
  containerID: string;
}

/** An entry in a pod's past that `describe` shows. */
export type HistoryEntry = EventEntry | EndEntry;

/** The highest restart count of each container of the pod so far. */
export interface RestartsLine {
  kind: 'restarts';
  podUID: string;
  counts: Readonly<Record<string, number>>;
}

/** Says that everything of the pod was removed. A pod with the same UID starts over. */
export interface RemovedLine {
  kind: 'removed';
  podUID: string;
}

/** One line of a history file. */
export type HistoryLine = HistoryEntry | RestartsLine | RemovedLine;

/** Parses every valid line. Skips lines cut by a power loss or written by another release. */
export function parseHistory(text: string): HistoryLine[] {
  return text.split('\n').flatMap((line) => parseLine(line) ?? []);
}

/** Returns how many lines no release wrote, such as torn ones. A later release may write other kinds and fields. */
export function countDamagedLines(text: string): number {
  const lines = text.split('\n').filter((line) => line !== '' && parseLine(line) === undefined);
  return lines.filter((line) => !hasKind(line)).length;
}

function hasKind(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && typeof value['kind'] === 'string' && typeof value['podUID'] === 'string';
  } catch {
    return false;
  }
}

function parseLine(line: string): HistoryLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isHistoryLine(value) ? value : undefined;
  } catch {
    // An empty or torn line.
    return undefined;
  }
}

export function formatHistory(lines: readonly HistoryLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

const fieldsOf: Record<HistoryLine['kind'], Record<string, 'string' | 'number' | 'object'>> = {
  event: {
    eventType: 'string',
    reason: 'string',
    message: 'string',
    count: 'number',
    firstAt: 'number',
    lastAt: 'number',
  },
  end: {
    containerName: 'string',
    containerID: 'string',
    restartCount: 'number',
    exitCode: 'number',
    reason: 'string',
    message: 'string',
    startedAt: 'number',
    finishedAt: 'number',
  },
  restarts: { counts: 'object' },
  removed: {},
};

function isHistoryLine(value: unknown): value is HistoryLine {
  if (!isRecord(value)) return false;
  const { kind, podUID } = value;
  if (typeof podUID !== 'string' || typeof kind !== 'string' || !Object.hasOwn(fieldsOf, kind)) return false;
  const fields = Object.entries(fieldsOf[kind as HistoryLine['kind']]);
  if (!fields.every(([name, type]) => typeof value[name] === type)) return false;
  return kind !== 'restarts' || (isRecord(value['counts']) && Object.values(value['counts']).every(Number.isInteger));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Read access to the past of pods. */
export interface EngineHistory {
  /** Returns the past of all revisions of this pod, even from before this engine. Empty for an unknown pod. */
  history(pod: { namespace: string; name: string }): Promise<HistoryEntry[]>;
}
