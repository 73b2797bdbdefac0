import type { Container, ContainerStatus, Pod } from '../../api/types.ts';
import { manifestKey } from '../../api/values/depends-on.ts';
import { podKey } from '../../api/values/pod-names.ts';
import type { HistoryEntry } from '../history/history-entry.ts';
import type { EventCause } from '../view/events.ts';
import type { EngineSnapshot, PodSnapshot } from '../view/snapshot.ts';
import type { Evidence, Finding } from './explanation.ts';

/** Facts about one revision of a pod, as an agent reports them. Without an agent only `pod` and `history` exist. */
export interface Subject extends Pick<PodSnapshot, 'pod'>, Partial<Omit<PodSnapshot, 'pod'>> {
  /** Absent if no agent runs. */
  node?: Pick<EngineSnapshot, 'runtime' | 'pressures' | 'sources' | 'pods'>;
  /** The past of the pod, even from before this agent. */
  history?: readonly HistoryEntry[];
  /** Last log lines of containers, by container name. */
  logTails?: Readonly<Record<string, string>>;
}

/** Decides whether one kind of trouble explains the subject. Returns undefined if it does not. */
export type Examiner = (subject: Subject) => Finding | undefined;

/** A Kubernetes event of the pod. Repeats share one entry. */
export interface PastEvent {
  at: number;
  eventType: 'Normal' | 'Warning';
  reason: string;
  message: string;
  containerName?: string;
  cause?: EventCause;
  hint?: string;
}

/** Returns the Kubernetes events of the pod, oldest first. */
export function pastEvents({ events = [], history = [] }: Subject): PastEvent[] {
  const recent = events.filter((event) => event.type === 'Recorded');
  const since = recent[0]?.at ?? Infinity;
  const earlier = history.flatMap((entry) =>
    entry.kind === 'event' && entry.lastAt < since ? [{ ...entry, at: entry.lastAt }] : [],
  );
  return [...earlier, ...recent].toSorted((a, b) => a.at - b.at);
}

/** Returns the newest event with one of these reasons. */
export function newestEvent(
  subject: Subject,
  wanted: readonly string[],
  containerName?: string,
): PastEvent | undefined {
  return pastEvents(subject).findLast(
    (event) => wanted.includes(event.reason) && (containerName === undefined || event.containerName === containerName),
  );
}

export function eventEvidence({ at, reason, containerName, message }: PastEvent): Evidence {
  return { from: `event ${reason}`, at, text: containerName === undefined ? message : `${containerName}: ${message}` };
}

/** Returns the last log lines of a container, if they were read. */
export function logEvidence({ logTails = {} }: Subject, { container }: Pick<Part, 'container'>): Evidence[] {
  const tail = (logTails[container.name] ?? '').trim();
  return tail === '' ? [] : [{ from: `log of ${container.name}`, text: tail }];
}

/** A container of the manifest, its field path and its status. */
export interface Part {
  container: Container;
  path: string;
  isInit: boolean;
  status?: ContainerStatus;
}

/** Init containers first, in the order of the manifest. */
export function partsOf({ spec, status = {} }: Pod): Part[] {
  const part = (path: string, isInit: boolean, statuses: readonly ContainerStatus[] = []) => {
    return (container: Container, index: number): Part => {
      const own = statuses.find(({ name }) => name === container.name);
      return { container, path: `${path}[${index}]`, isInit, ...(own && { status: own }) };
    };
  };
  return [
    ...(spec.initContainers ?? []).map(part('spec.initContainers', true, status.initContainerStatuses)),
    ...spec.containers.map(part('spec.containers', false, status.containerStatuses)),
  ];
}

export const hasBegun = (status: ContainerStatus | undefined): boolean =>
  status?.state?.running !== undefined || status?.state?.terminated !== undefined;

/** True while the postStart hook of a container runs. With a startup probe it may be that probe. */
export const isInHook = ({ container, status }: Part): boolean =>
  status?.state?.running !== undefined && status.started === false && container.startupProbe === undefined;

/** Returns the end of a cause that names the container that waits for this one. Empty if none waits. */
export function waiterText(parts: readonly Part[], part: Part): string {
  const next = parts
    .slice(parts.findIndex(({ path }) => path === part.path) + 1)
    .find(({ status }) => !hasBegun(status));
  return next === undefined ? '' : `; ${next.container.name} starts after it`;
}

/** Returns the first container that waits with one of these reasons. */
export function waitingPart({ pod }: Subject, wanted: readonly string[]): Part | undefined {
  return partsOf(pod).find(({ status }) => wanted.includes(status?.state?.waiting?.reason ?? ''));
}

export function waitingEvidence({ container, status }: Part): Evidence {
  const { reason = '', message = '' } = status?.state?.waiting ?? {};
  return { from: `container ${container.name}`, text: `waits: ${reason}${message === '' ? '' : `: ${message}`}` };
}

/** Returns when the next sync of the pod retries what failed. */
export function nextTry({ worker }: Subject): Pick<Finding, 'nextTryAt'> {
  return worker?.nextSyncAt === undefined ? {} : { nextTryAt: Math.ceil(worker.nextSyncAt) };
}

/** Returns when a container starts next. Until its back-off is over, syncs do not try to start it. */
export function nextStart(subject: Subject, { container }: Part): Pick<Finding, 'nextTryAt'> {
  const { nextTryAt } = nextTry(subject);
  const untilMs = subject.backOffUntil?.[container.name] ?? 0;
  return nextTryAt === undefined ? {} : { nextTryAt: Math.max(nextTryAt, Math.ceil(untilMs)) };
}

/**
 * Returns the pod's name for a command line: without the node and the namespace `default`. If another pod of the node
 * has that name too, returns the full name.
 */
export function commandName({ pod, node }: Pick<Subject, 'pod' | 'node'>): string {
  const short = manifestKey(pod).replace(/^default\//, '');
  const full = podKey(pod.metadata);
  const last = short.slice(short.indexOf('/') + 1);
  // The cheap comparison comes first, because a table of many pods calls this for each of them.
  const hasName = (other: Pod): boolean =>
    other.metadata.name.startsWith(last) && podKey(other.metadata) !== full && commandNames(other).includes(short);
  return (node?.pods ?? []).some((other) => hasName(other.pod)) ? full : short;
}

/** Returns all names that a command line may use for the pod. */
function commandNames(pod: Pod): string[] {
  return [podKey(pod.metadata), manifestKey(pod)].flatMap((name) => [name, name.slice(name.indexOf('/') + 1)]);
}

/** Returns the `kubelet-ts logs` command for a container. Leaves its name out if the pod has only one. */
export function logsCommand(subject: Subject, name: string, flags = ''): string {
  const isOnly = partsOf(subject.pod).length === 1;
  return `kubelet-ts logs ${flags}${commandName(subject)}${isOnly ? '' : ` -c ${name}`}`;
}

/** Returns how a cause names a container. Empty for the only container of a pod. */
export function named({ pod }: Subject, { name }: Pick<Container, 'name'>): string {
  return partsOf(pod).length === 1 ? '' : `${name}: `;
}
