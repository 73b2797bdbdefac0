import { podKey, type PodRef } from '../api/values/pod-names.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import { describeEvent } from './describe-event.ts';
import { fitToWidth } from '../text/display-width.ts';
import type { Line, Span } from './line.ts';

/** Below this width the events pane names pods without their namespaces. */
const namespacesFrom = 70;

/** Lines of the events pane, `columns` wide: time, pod, event, facts. */
export function eventLines(events: readonly KubeletEvent[], columns: number): Line[] {
  const described = events.map((event) => ({ at: event.at, ...describeEvent(event) }));
  const podTexts = described.map(({ pod }) => podText(pod, columns >= namespacesFrom));
  const podWidth = Math.min(Math.max(0, ...podTexts.map((text) => text.length)), Math.floor(columns / 3));
  return described.map(({ at, title, detail, color }, index) => ({
    spans: [
      timeSpan(at),
      { text: `${fitToWidth(podTexts[index] ?? '', podWidth)} ` },
      titleSpan(title, color),
      { text: detail },
    ],
  }));
}

/** One line of a pod's own events, without the pod's name. */
export function podEventLine(event: KubeletEvent): Line {
  const { title, detail, color } = describeEvent(event);
  return { spans: [timeSpan(event.at), titleSpan(title, color), { text: detail }] };
}

function podText(pod: PodRef | undefined, withNamespace: boolean): string {
  if (pod === undefined) {
    return '(node)';
  }
  return withNamespace ? podKey(pod) : pod.name;
}

function timeSpan(at: number): Span {
  return { text: `${new Date(at).toTimeString().slice(0, 8)} `, color: 'gray' };
}

/** As wide as `ContainerStarted`. A longer reason shifts its facts to the right. */
const titleWidth = 16;

function titleSpan(title: string, color: Span['color']): Span {
  return { text: `${title.padEnd(titleWidth)} `, ...(color && { color }) };
}

/** Filters of the events pane. The key `e` cycles through them. */
const eventKinds = ['news', 'all', 'pleg', 'recorded', 'workers'] as const;
export type EventKind = (typeof eventKinds)[number];

/** True if the pane shows the event with this filter. `news` leaves out events that concern only the engine itself. */
export function isOfKind(event: KubeletEvent, kind: EventKind): boolean {
  if (kind === 'news') return isNews(event);
  const own = eventKindOf(event);
  return own !== undefined && (kind === 'all' || kind === own);
}

const newsTypes: readonly KubeletEvent['type'][] = [
  'Recorded',
  'RuntimeReady',
  'RuntimeNotReady',
  'PodAdded',
  'PodUpdated',
  'PodRemoved',
];

/** Starts and removals of containers are also recorded with more detail. */
function isNews(event: KubeletEvent): boolean {
  if (event.type === 'ContainerDied') return event.containerName !== undefined;
  return newsTypes.includes(event.type);
}

/** The kind of an event in the events pane. Returns undefined for events that are too frequent to show. */
export function eventKindOf(event: KubeletEvent): Exclude<EventKind, 'all' | 'news'> | undefined {
  switch (event.type) {
    case 'ContainerStarted':
    case 'ContainerDied':
    case 'ContainerRemoved':
    case 'ContainerChanged':
      return 'pleg';
    case 'Recorded':
    case 'RuntimeReady':
    case 'RuntimeNotReady':
      return 'recorded';
    case 'WorkerStateChanged':
    case 'PodAdded':
    case 'PodUpdated':
    case 'PodRemoved':
      return 'workers';
    // The pods table shows these. A pod's sync every minute is not news.
    case 'SyncStarted':
    case 'SyncFinished':
    case 'PodStatusChanged':
    case 'SourceRead':
    case 'PullProgressed':
    case 'WorkloadChanged':
      return undefined;
  }
}

/** The kind after `kind`, in a cycle. */
export function nextEventKind(kind: EventKind): EventKind {
  return eventKinds[(eventKinds.indexOf(kind) + 1) % eventKinds.length] ?? 'news';
}
