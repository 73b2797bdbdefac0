import type { KubeletEvent, ManifestProblem } from '../../engine/view/events.ts';
import type { ReportedEngine } from '../../engine/view/snapshot.ts';

/** True for an event that servers get, even after weeks. The snapshot has the rest. */
function isReported(event: KubeletEvent): boolean {
  switch (event.type) {
    case 'Recorded':
    case 'PodAdded':
    case 'PodUpdated':
    case 'PodRemoved':
    case 'RuntimeReady':
    case 'RuntimeNotReady':
      return true;
    case 'ContainerDied':
      return event.end !== undefined;
    case 'ContainerStarted':
    case 'ContainerChanged':
    case 'ContainerRemoved':
    case 'PodStatusChanged':
    case 'PullProgressed':
    case 'SourceRead':
    case 'SyncStarted':
    case 'SyncFinished':
    case 'WorkerStateChanged':
    case 'WorkloadChanged':
      return false;
  }
}

/** Returns the event as servers get it, without the values of variables. Returns undefined if they do not get it. */
export function reportedEvent(event: KubeletEvent, engine: ReportedEngine): KubeletEvent | undefined {
  if (!isReported(event)) return undefined;
  if (event.type === 'Recorded' && event.pod !== undefined) {
    return { ...event, message: engine.withoutVariables(event.pod.uid, event.message) };
  }
  if (event.type === 'ContainerDied' && event.end !== undefined) {
    return { ...event, end: { ...event.end, message: engine.withoutVariables(event.pod.uid, event.end.message) } };
  }
  return event;
}

/** Returns a function that is true for an event after which the snapshot differs in what matters to a server. */
export function snapshotChanges(): (event: KubeletEvent) => boolean {
  /** The problems of each source. */
  const known = new Map<string, string>();
  return (event) => {
    if (event.type !== 'SourceRead')
      return event.type === 'PodStatusChanged' || event.type === 'WorkloadChanged' || isReported(event);
    const problems = event.problems.map(withoutTimes).join('\n');
    const isNew = (known.get(event.where) ?? '') !== problems;
    known.set(event.where, problems);
    return isNew;
  };
}

const withoutTimes = ({ origin, message }: ManifestProblem): string => `${origin}: ${message}`;
