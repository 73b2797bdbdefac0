import type { KubeletEvent } from '../engine/view/events.ts';

/** What the events pane shows; the key `e` goes round. */
export const eventKinds = ['all', 'pleg', 'recorded', 'workers'] as const;
export type EventKind = (typeof eventKinds)[number];

/** The kind of an event in the events pane; undefined for those that would only drown the others. */
export function eventKindOf(event: KubeletEvent): Exclude<EventKind, 'all'> | undefined {
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
    // The pods table shows these; a sync of every pod each minute is not news.
    case 'SyncStarted':
    case 'SyncFinished':
    case 'PodStatusChanged':
    case 'SourceRead':
    case 'PullProgressed':
      return undefined;
  }
}

/** The kind after `kind`, going round. */
export function nextEventKind(kind: EventKind): EventKind {
  return eventKinds[(eventKinds.indexOf(kind) + 1) % eventKinds.length] ?? 'all';
}
