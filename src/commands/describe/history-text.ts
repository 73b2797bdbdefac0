import { humanDuration } from '../../api/values/duration.ts';
import type { EndEntry, EventEntry, HistoryEntry } from '../../engine/history/history-entry.ts';
import { printable } from '../../text/visible-text.ts';
import { formatTable } from '../../text/format-table.ts';
import { exitText } from '../../node/log/exit-text.ts';
import type { ListedEvent } from '../objects/listed-event.ts';

/** Container exits and events, newest last. `now` is in milliseconds since the epoch. */
export async function historyText(history: readonly HistoryEntry[], now: number): Promise<string> {
  const ends = history.filter((entry) => entry.kind === 'end').sort((a, b) => a.finishedAt - b.finishedAt);
  const events = history.filter((entry) => entry.kind === 'event').sort((a, b) => a.lastAt - b.lastAt);
  return (await exitsText(ends, now)) + (await eventsText(events, now));
}

async function exitsText(ends: readonly EndEntry[], now: number): Promise<string> {
  if (ends.length === 0) return '';
  const rows = ends.map(({ containerName, restartCount, reason, exitCode, startedAt, finishedAt, message }) => [
    `${containerName}#${restartCount}`,
    reason,
    exitText(exitCode),
    startedAt === 0 ? '<never started>' : humanDuration(finishedAt - startedAt),
    ago(finishedAt, now),
    firstLine(message),
  ]);
  return `Exits:\n${await indented([['Container', 'Reason', 'Exit Code', 'Ran', 'Age', 'Message'], ...rows])}`;
}

async function eventsText(events: readonly EventEntry[], now: number): Promise<string> {
  if (events.length === 0) return 'Events:   <none>\n';
  const rows = events.map((event) => [
    event.eventType,
    event.reason,
    agoText(event, now),
    event.containerName ?? '',
    firstLine(event.message),
  ]);
  return `Events:\n${await indented([['Type', 'Reason', 'Age', 'Container', 'Message'], ...rows])}`;
}

/** Events of several objects, newest last. */
export async function objectEventsText(events: readonly ListedEvent[], now: number): Promise<string> {
  if (events.length === 0) return 'Events:   <none>\n';
  const rows = events.map((event) => [
    event.type,
    event.reason,
    agoText(event, now),
    event.name,
    firstLine(event.message),
  ]);
  return `Events:\n${await indented([['Type', 'Reason', 'Age', 'Object', 'Message'], ...rows])}`;
}

function agoText({ count, firstAt, lastAt }: Pick<EventEntry, 'count' | 'firstAt' | 'lastAt'>, now: number): string {
  return count === 1 ? ago(lastAt, now) : `${ago(lastAt, now)} (x${count} over ${ago(firstAt, now)})`;
}

const ago = (at: number, now: number): string => humanDuration(now - at);

function firstLine(text: string): string {
  return printable(text.trim().split('\n', 1)[0] ?? '');
}

async function indented(rows: readonly (readonly string[])[]): Promise<string> {
  return (await formatTable(rows)).replace(/^(?=.)/gm, '  ');
}
