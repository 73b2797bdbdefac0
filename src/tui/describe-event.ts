import type { PodRef } from '../api/values/pod-names.ts';
import { pullText } from '../api/values/pod-printer.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import type { Color } from './theme.ts';

/** An event as text for the screen. */
export interface EventText {
  /** Absent for an event of the node. */
  pod?: PodRef;
  title: string;
  detail: string;
  color?: Color;
}

/** The screen's text for an event. */
export function describeEvent(event: KubeletEvent): EventText {
  switch (event.type) {
    case 'ContainerStarted':
    case 'ContainerDied':
    case 'ContainerRemoved':
    case 'ContainerChanged':
      return describePlegEvent(event);
    case 'Recorded':
      return {
        ...(event.pod && { pod: event.pod }),
        title: event.reason,
        detail: event.containerName === undefined ? event.message : `${event.containerName}: ${event.message}`,
        ...(event.eventType === 'Warning' && { color: 'yellow' }),
      };
    case 'WorkerStateChanged':
      return { pod: event.pod, title: 'Worker', detail: event.state, color: 'blue' };
    case 'SyncStarted':
      return { pod: event.pod, title: 'SyncStarted', detail: event.state, color: 'gray' };
    case 'SyncFinished':
      return event.error === undefined
        ? { pod: event.pod, title: 'SyncFinished', detail: `in ${Math.round(event.durationMs)}ms`, color: 'gray' }
        : { pod: event.pod, title: 'SyncFailed', detail: event.error, color: 'red' };
    case 'PodAdded':
    case 'PodUpdated':
    case 'PodRemoved':
      return { pod: event.pod, title: event.type, detail: `from ${event.source}`, color: 'cyan' };
    case 'PodStatusChanged':
      return { pod: event.pod, title: 'PodStatus', detail: `${event.phase}${event.ready ? ', ready' : ', not ready'}` };
    case 'WorkloadChanged':
      return { title: event.type, detail: `${event.name}: ${event.available} of ${event.desired} available` };
    case 'SourceRead':
      return { title: 'SourceRead', detail: `${event.where}: ${event.pods} pods, ${event.problems.length} problems` };
    case 'PullProgressed':
      return { pod: event.pod, title: 'Pulling', detail: `${event.containerName}: ${pullText(event)}` };
    case 'RuntimeReady':
      return { title: event.type, detail: `${event.name} ${event.version}`, color: 'green' };
    case 'RuntimeNotReady':
      return { title: event.type, detail: event.message, color: 'red' };
  }
}

type PlegEvent = Extract<KubeletEvent, { id: string }>;

function describePlegEvent(event: PlegEvent): EventText {
  const facts = [event.containerName ?? 'sandbox', event.id.slice(0, shortIdLength)];
  if (event.exitCode !== undefined) {
    facts.push(`exit ${event.exitCode}`);
  }
  return { pod: event.pod, title: event.type, detail: facts.join(' '), color: plegColor(event) };
}

/** As many digits as crictl and docker show. */
const shortIdLength = 13;

function plegColor(event: PlegEvent): Color {
  switch (event.type) {
    case 'ContainerStarted':
      return 'green';
    case 'ContainerDied':
      return event.exitCode === 0 ? 'cyan' : 'red';
    case 'ContainerRemoved':
      return 'gray';
    case 'ContainerChanged':
      return 'magenta';
  }
}
