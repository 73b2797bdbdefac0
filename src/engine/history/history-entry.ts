import type { ContainerEnd } from '../view/events.ts';

/** Events of one kind, as `kubectl describe` counts them. */
export interface EventEntry {
  kind: 'event';
  podUID: string;
  eventType: 'Normal' | 'Warning';
  /** One of reasons.ts. */
  reason: string;
  /** Of the newest of them. */
  message: string;
  containerName?: string;
  count: number;
  /** Milliseconds since the epoch, as every `…At` here. */
  firstAt: number;
  lastAt: number;
}

/** One run of a container that is over. */
export interface EndEntry extends ContainerEnd {
  kind: 'end';
  podUID: string;
  containerName: string;
  containerID: string;
}

/** What `describe` shows of the past of a pod. */
export type HistoryEntry = EventEntry | EndEntry;

/** The highest restart count that each container of the pod was made with. */
export interface RestartsLine {
  kind: 'restarts';
  podUID: string;
  counts: Readonly<Record<string, number>>;
}

/** Nothing is left of the pod: under the same UID it would start over. */
export interface RemovedLine {
  kind: 'removed';
  podUID: string;
}

/** One line of a history file. */
export type HistoryLine = HistoryEntry | RestartsLine | RemovedLine;

/** Reads what it can: a line that power loss cut short, or that another release wrote, is passed over. */
export function parseHistory(text: string): HistoryLine[] {
  return text.split('\n').flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return isHistoryLine(value) ? [value] : [];
    } catch {
      // An empty or torn line.
      return [];
    }
  });
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

/** What a reader may ask of the past. */
export interface EngineHistory {
  /** What happened to all revisions of this pod, also before this engine; empty for one that nobody knows. */
  history(pod: { namespace: string; name: string }): Promise<HistoryEntry[]>;
}
