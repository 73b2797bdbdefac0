import type { Probe } from 'kubernetes-types/core/v1.js';
import { shellLine } from '../../text/shell-word.ts';
import { type KnownMessage, lastClause, type Meaning, meaningOf } from './known-message.ts';
import { commandName, logsCommand, type Part, type Subject } from './subject.ts';

type ProbeField = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

/** Returns the meaning of an `Unhealthy` event, such as `Readiness probe failed: …`. */
export function probeMeaning(subject: Subject, part: Part, message: string): Meaning & { field: string } {
  const [, kind = 'readiness', output = message] =
    /^(Liveness|Readiness|Startup) probe (?:failed|errored)\S*:? ?(.*)$/s.exec(message) ?? [];
  const field = `${kind.toLowerCase()}Probe` as ProbeField;
  const probed = { probe: part.container[field] ?? {}, part, subject };
  // A command can print the same messages about a different port.
  const known = portOf(probed.probe) === '' ? probeMessages : [...portMessages, ...probeMessages];
  return { ...(meaningOf(known, output, probed) ?? commandMeaning(probed, output)), field };
}

interface Probed {
  probe: Probe;
  part: Part;
  subject: Subject;
}

const portOf = ({ httpGet, tcpSocket, grpc }: Probe): string =>
  String(httpGet?.port ?? tcpSocket?.port ?? grpc?.port ?? '');

/** On the host network, a probe can name that address. A gRPC probe cannot. */
const onHost = ({ probe: { httpGet, tcpSocket }, subject }: Probed): string =>
  subject.pod.spec.hostNetwork === true && (httpGet ?? tcpSocket) !== undefined
    ? ', or set host: 127.0.0.1 in the probe'
    : '';

const shellCommand = ({ part, subject }: Probed): string =>
  `kubelet-ts exec ${commandName(subject)} -c ${part.container.name} -- netstat -ltn`;

/** Messages of this agent's probes of a port. */
const portMessages: readonly KnownMessage<[Probed]>[] = [
  {
    pattern: /(?:dial tcp \[?([\da-f.:]+?)\]?:\d+: .*)?connection refused/,
    cause: ([, address], { probe }) =>
      `nothing listens on port ${portOf(probe)}${address === undefined ? '' : ` of ${address}`}`,
    fixes: (_found, probed) => [
      `Correct the port of the probe.${declaredPorts(probed.part)}`,
      `Or look for its port: ${shellCommand(probed)}`,
      `A program that listens only on 127.0.0.1 cannot be reached: let it listen on 0.0.0.0${onHost(probed)}.`,
    ],
  },
  {
    pattern: /statuscode: (\d+)/,
    cause: ([, code = ''], { probe }) => `GET ${probe.httpGet?.path ?? '/'} on port ${portOf(probe)} answers ${code}`,
    fixes: ([, code = ''], { part, subject }) => [
      code === '404' ? 'Correct the path of the probe.' : 'Look for the cause in its log.',
      `Read its output: ${logsCommand(subject, part.container.name)}`,
    ],
  },
  {
    pattern: /HTTP response to HTTPS client|wrong version number|malformed HTTP|Parse Error|packet length/i,
    cause: (_found, { probe }) => `port ${portOf(probe)} does not speak ${probe.httpGet?.scheme ?? 'HTTP'}`,
    fixes: () => ['Correct the scheme (HTTP or HTTPS) or the port of the probe.'],
  },
];

/** Messages of all kinds of probes. */
const probeMessages: readonly KnownMessage<[Probed]>[] = [
  {
    pattern: /i\/o timeout|deadline exceeded|timed out|timeout/i,
    cause: (_found, { probe }) => `no answer within ${probe.timeoutSeconds ?? 1}s`,
    fixes: (_found, { part, subject }) => [
      'Raise timeoutSeconds of the probe, or add a startupProbe for a slow start.',
      `Look whether the program is busy or stuck: ${logsCommand(subject, part.container.name)}`,
    ],
  },
  {
    pattern: /no route to host|network is unreachable/,
    cause: () => 'this machine cannot reach the pod network',
    fixes: () => ['Find what blocks the packets: kubelet-ts doctor'],
  },
  {
    pattern: /executable file not found|no such file or directory/,
    cause: (_found, { probe }) => `its image has no command "${probe.exec?.command?.[0] ?? ''}"`,
    fixes: () => ['Correct the command of the probe.'],
  },
];

function declaredPorts({ container: { ports = [] } }: Part): string {
  return ports.length === 0
    ? ''
    : ` The container declares ${ports.map(({ containerPort }) => containerPort).join(', ')}.`;
}

function commandMeaning({ probe: { exec }, part, subject }: Probed, output: string): Meaning {
  const args = exec?.command ?? [];
  const command = args.join(' ');
  const read = `Read its output: ${logsCommand(subject, part.container.name)}`;
  if (command === '') return { cause: lastClause(output) || 'it fails', fixes: [read] };
  const reason = output.trim() === '' ? '' : `: ${lastClause(output)}`;
  return {
    cause: `the command "${command}" fails${reason}`,
    fixes: [`Try it: kubelet-ts exec ${commandName(subject)} -c ${part.container.name} -- ${shellLine(args)}`, read],
  };
}
