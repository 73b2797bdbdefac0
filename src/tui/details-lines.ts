import { podKey } from '../api/values/pod-names.ts';
import { eachContainer } from '../api/values/containers.ts';
import { isSidecar } from '../api/values/sidecars.ts';
import { humanDuration } from '../api/values/duration.ts';
import { ageText, podStatusText, readyText, restartsText } from '../api/values/pod-printer.ts';
import type { Container, ContainerState, ContainerStatus, Pod } from '../api/types.ts';
import { allContainerStatuses } from '../api/values/container-statuses.ts';
import { explainPod } from '../engine/explain/explain-pod.ts';
import { isWell } from '../engine/view/is-well.ts';
import type { EngineSnapshot, PodSnapshot, WorkerSnapshot } from '../engine/view/snapshot.ts';
import { fitToWidth } from '../text/display-width.ts';
import { isOfKind, podEventLine } from './event-lines.ts';
import { type Line, type Span, textLine } from './line.ts';
import { nextSyncText, pullBarText, workerText } from './pod-row.ts';

/**
 * All details of one pod: why it is not well, containers with their exits, events newest first, environment, mounts.
 */
export function detailsLines(entry: PodSnapshot, { now, snapshot }: { now: number; snapshot: EngineSnapshot }): Line[] {
  const { pod, worker } = entry;
  return [
    ...factLines(entry, now),
    ...reasonLines(entry, snapshot),
    ...conditionLines(entry.pod),
    ...workerErrorLines(worker),
    textLine(''),
    ...containerLines(pod, now),
    textLine(''),
    ...recentEventLines(entry),
    ...[...eachContainer(pod.spec)].flatMap(({ container }) => settingLines(container)),
  ];
}

function recentEventLines({ events }: PodSnapshot): Line[] {
  const news = events.filter((event) => isOfKind(event, 'news'));
  return [textLine(`EVENTS (${news.length}, newest first)`, { bold: true }), ...news.toReversed().map(podEventLine)];
}

function factLines(entry: PodSnapshot, now: number): Line[] {
  const { pod, worker } = entry;
  const conditions = (pod.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`).join(' ');
  const message = pod.status?.message;
  return [
    textLine(podKey(pod.metadata), { bold: true }),
    fact('Status', `${podStatusText(pod, worker)}, ready ${readyText(pod)}, restarts ${restartsText(pod, now)}`),
    ...(message === undefined ? [] : [fact('Message', message)]),
    ...(entry.pulls ?? []).map((pull) => fact('Pulling', `${pull.container}: ${pullBarText(pull)}`, { color: 'cyan' })),
    fact('Phase', `${pod.status?.phase ?? 'Pending'}, age ${ageText(pod, now)}, QoS ${pod.status?.qosClass ?? '-'}`),
    fact('Pod IP', pod.status?.podIP ?? (pod.spec.hostNetwork ? 'host network' : '-')),
    fact('UID', `${pod.metadata.uid} from ${entry.source}`),
    ...(conditions === '' ? [] : [fact('Conditions', conditions)]),
    fact('Worker', `${workerText(worker)}, next sync ${nextSyncText(worker, now)}`),
  ];
}

/** The explanation of a pod that is not well. */
function reasonLines(entry: PodSnapshot, node: EngineSnapshot): Line[] {
  if (isWell(entry, node)) return [];
  const { stage, cause, fixes } = explainPod({ ...entry, node });
  if (stage === 'running') return [];
  return [fact('Reason', cause, { color: 'yellow' }), ...fixes.map((fix) => fact('To do', fix, { color: 'cyan' }))];
}

/** Conditions that have a message. */
function conditionLines({ status }: Pod): Line[] {
  return (status?.conditions ?? [])
    .filter(({ message = '' }) => message !== '')
    .map(({ type, reason, message }) => fact(type, [reason, message].filter(Boolean).join(': ')));
}

/** Environment and mounts of a container. */
function settingLines({ name, env = [], envFrom = [], volumeMounts = [] }: Container): Line[] {
  const lines = [
    ...envFrom.map(({ prefix = '', configMapRef, secretRef }) =>
      fact('env from', `${prefix}* ${referenceText(configMapRef, 'ConfigMap')}${referenceText(secretRef, 'Secret')}`),
    ),
    ...env.map((one) =>
      fact('env', `${one.name}${one.valueFrom ? ` from ${sourceText(one.valueFrom)}` : `=${one.value ?? ''}`}`),
    ),
    ...volumeMounts.map((mount) =>
      fact(
        'mount',
        `${mount.mountPath} from ${mount.name}${mount.subPath === undefined ? '' : `/${mount.subPath}`}${mount.readOnly === true ? ', read-only' : ''}`,
      ),
    ),
  ];
  return lines.length === 0
    ? []
    : [textLine(''), textLine(`ENVIRONMENT AND MOUNTS OF ${name}`, { bold: true }), ...lines];
}

const referenceText = (reference: { name?: string } | undefined, kind: string): string =>
  reference === undefined ? '' : `${kind} ${reference.name ?? ''}`;

function sourceText({ fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef }: EnvSource): string {
  if (fieldRef !== undefined) return fieldRef.fieldPath;
  if (resourceFieldRef !== undefined) return resourceFieldRef.resource;
  const kind = configMapKeyRef === undefined ? 'Secret' : 'ConfigMap';
  const { name = '', key = '' } = configMapKeyRef ?? secretKeyRef ?? {};
  return `${kind} ${name}, key ${key}`;
}

type EnvSource = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>;

function workerErrorLines(worker: WorkerSnapshot): Line[] {
  return worker.lastSyncError === undefined ? [] : [fact('Sync error', worker.lastSyncError, { color: 'red' })];
}

function fact(name: string, text: string, style: Omit<Span, 'text'> = {}): Line {
  return {
    spans: [
      { text: fitToWidth(name, 12), color: 'gray' },
      { text, ...style },
    ],
  };
}

function containerLines(pod: Pod, now: number): Line[] {
  const initContainers = pod.spec.initContainers ?? [];
  const { containers: regular, ephemeralContainers = [] } = pod.spec;
  const containers: Container[] = [...initContainers, ...regular, ...ephemeralContainers];
  const statuses = allContainerStatuses(pod.status);
  const nameWidth = Math.max('CONTAINER'.length, ...containers.map((container) => container.name.length));
  return [
    textLine(`${fitToWidth('CONTAINER', nameWidth)}  KIND     READY  RESTARTS  STATE`, { bold: true }),
    ...containers.flatMap((container) => {
      const status = statuses.find(({ name }) => name === container.name);
      const kind = initContainers.includes(container)
        ? initKind(container)
        : regular.includes(container)
          ? 'app'
          : 'ephem';
      return [containerLine(container, kind, status, nameWidth, now), ...lastEndLines(status, now)];
    }),
  ];
}

function initKind(container: Container): string {
  return isSidecar(container) ? 'sidecar' : 'init';
}

function containerLine(
  container: Container,
  kind: string,
  status: ContainerStatus | undefined,
  nameWidth: number,
  now: number,
): Line {
  return {
    spans: [
      { text: `${fitToWidth(container.name, nameWidth)}  ${kind.padEnd(7)}  ` },
      { text: `${(status?.ready ? 'yes' : 'no').padEnd(5)}  ${String(status?.restartCount ?? 0).padEnd(8)}  ` },
      stateSpan(status?.state, now),
      { text: `  ${container.image ?? ''}`, color: 'gray' },
    ],
  };
}

function stateSpan(state: ContainerState | undefined, now: number): Span {
  if (state?.running) {
    return { text: `Running for ${sinceText(state.running.startedAt, now)}`, color: 'green' };
  }
  if (state?.terminated) {
    return { text: endText(state.terminated, now), color: state.terminated.exitCode === 0 ? 'gray' : 'red' };
  }
  const { reason, message } = state?.waiting ?? {};
  return { text: ['Waiting', reason, message].filter(Boolean).join(': '), color: 'yellow' };
}

function lastEndLines(status: ContainerStatus | undefined, now: number): Line[] {
  const ended = status?.lastState?.terminated;
  return ended === undefined ? [] : [textLine(`  last: ${endText(ended, now)}`, { color: 'gray' })];
}

function endText(ended: NonNullable<ContainerState['terminated']>, now: number): string {
  const ranMs = Date.parse(ended.finishedAt ?? '') - Date.parse(ended.startedAt ?? '');
  return [
    `${ended.reason ?? 'Terminated'}, exit ${ended.exitCode}, ${sinceText(ended.finishedAt, now)} ago`,
    ...(Number.isNaN(ranMs) ? [] : [`ran ${humanDuration(ranMs)}`]),
    ...(ended.message ? [ended.message] : []),
  ].join(', ');
}

function sinceText(time: string | undefined, now: number): string {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? '<unknown>' : humanDuration(now - at);
}
