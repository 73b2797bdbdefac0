import type { Container, ContainerState, ContainerStatus } from '../../api/types.ts';
import { type ByKind, byKind, type ProbeHandlers } from '../../api/values/by-kind.ts';
import { humanDuration } from '../../api/values/duration.ts';
import { visible } from '../../text/visible-text.ts';
import { exitText } from '../../node/log/exit-text.ts';
import { fields, timeText } from './field-text.ts';

/** One block per container: its settings, its state and its last exit. Containers of a template have no restarts. */
export function containersText(
  title: string,
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  now: number,
  { isTemplate = false }: { isTemplate?: boolean } = {},
): string {
  if (containers.length === 0) return '';
  const blocks = containers.map((container) => {
    const status = statuses.find(({ name }) => name === container.name);
    return `  ${visible(container.name)}:\n${fields(4, containerRows(container, status, now, isTemplate))}`;
  });
  return `${title}:\n${blocks.join('')}`;
}

function containerRows(
  container: Container,
  status: ContainerStatus | undefined,
  now: number,
  isTemplate: boolean,
): [string, string | number | undefined][] {
  const { ports = [], command, args, resources, env = [], volumeMounts = [] } = container;
  return [
    ['Container ID', status?.containerID],
    ['Image', container.image ?? status?.image],
    ['Image ID', status?.imageID],
    ['Ports', ports.map(({ containerPort, protocol = 'TCP' }) => `${String(containerPort)}/${protocol}`).join(', ')],
    ['Host Ports', ports.flatMap(({ hostPort }) => hostPort ?? []).join(', ')],
    ['Command', command?.join('\n')],
    ['Args', args?.join('\n')],
    ...stateRows('State', status?.state, now),
    ...stateRows('Last State', status?.lastState, now),
    ['Ready', status === undefined ? undefined : status.ready ? 'True' : 'False'],
    ['Restart Count', status?.restartCount ?? (isTemplate ? undefined : 0)],
    ['Limits', amounts(resources?.limits)],
    ['Requests', amounts(resources?.requests)],
    ['Liveness', probeText(container.livenessProbe)],
    ['Readiness', probeText(container.readinessProbe)],
    ['Startup', probeText(container.startupProbe)],
    ['Environment', env.map(variableText).join('\n')],
    [
      'Mounts',
      volumeMounts
        .map(({ mountPath, name, readOnly }) => `${mountPath} from ${name} (${readOnly === true ? 'ro' : 'rw'})`)
        .join('\n'),
    ],
  ];
}

function stateRows(
  label: string,
  { running, waiting, terminated }: ContainerState = {},
  now: number,
): [string, string | undefined][] {
  if (running !== undefined) {
    const { startedAt = '' } = running;
    return [
      [label, 'Running'],
      ['  Started', `${timeText(startedAt)} (${humanDuration(now - Date.parse(startedAt))} ago)`],
    ];
  }
  if (terminated !== undefined) {
    return [
      [label, 'Terminated'],
      ['  Reason', terminated.reason],
      ['  Exit Code', exitText(terminated.exitCode)],
      ['  Message', terminated.message],
      ['  Started', terminated.startedAt && timeText(terminated.startedAt)],
      ['  Finished', terminated.finishedAt && timeText(terminated.finishedAt)],
    ];
  }
  if (waiting === undefined) return [];
  return [
    [label, 'Waiting'],
    ['  Reason', waiting.reason],
    ['  Message', waiting.message],
  ];
}

/** A variable with the source of its value. Values of Secrets are never shown. */
function variableText({ name, value, valueFrom = {} }: NonNullable<Container['env']>[number]): string {
  const { secretKeyRef, configMapKeyRef, fieldRef, resourceFieldRef } = valueFrom;
  if (secretKeyRef) return `${name}: <key ${secretKeyRef.key} of Secret ${secretKeyRef.name ?? ''}>`;
  if (configMapKeyRef) return `${name}: <key ${configMapKeyRef.key} of ConfigMap ${configMapKeyRef.name ?? ''}>`;
  if (fieldRef) return `${name}: <${fieldRef.fieldPath}>`;
  if (resourceFieldRef) return `${name}: <${resourceFieldRef.resource}>`;
  return `${name}: ${value ?? ''}`;
}

function amounts(resources: object | undefined): string {
  return Object.entries(resources ?? {})
    .map(([name, amount]) => `${name}=${String(amount)}`)
    .join(', ');
}

/** A probe in one line, as kubectl prints it. Empty if there is none. kubectl: pkg/describe DescribeProbe */
function probeText(probe: Container['livenessProbe']): string {
  if (probe === undefined) return '';
  const { initialDelaySeconds = 0, timeoutSeconds = 1, periodSeconds = 10, successThreshold = 1 } = probe;
  const times = `delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s period=${periodSeconds}s`;
  return `${byKind(probe, actionTexts) ?? 'unknown'} ${times} #success=${successThreshold} #failure=${probe.failureThreshold ?? 3}`;
}

/** One row per kind of probe. */
const actionTexts: ByKind<ProbeHandlers, [], string> = {
  exec: ({ command = [] }) => `exec [${command.join(' ')}]`,
  httpGet: ({ scheme = 'HTTP', host = '', port, path = '/' }) =>
    `http-get ${scheme.toLowerCase()}://${host}:${String(port)}${path}`,
  tcpSocket: ({ host = '', port }) => `tcp-socket ${host}:${String(port)}`,
  grpc: ({ port, service = '' }) => `grpc :${port} ${service}`.trimEnd(),
};
