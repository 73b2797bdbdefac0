import type { ContainerStateTerminated } from 'kubernetes-types/core/v1.js';
import { startsAgain } from '../../api/values/restart-rules.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { reasons } from '../view/reasons.ts';
import { execFormatRemedies } from './explain-image.ts';
import type { Evidence, Finding } from './explanation.ts';
import { type KnownMessage, machineMessages, type Meaning, meaningOf } from './known-message.ts';
import { probeMeaning } from './probe-meaning.ts';
import {
  eventEvidence,
  logEvidence,
  logsCommand,
  named,
  newestEvent,
  nextStart,
  type Part,
  partsOf,
  type Subject,
} from './subject.ts';

/** Explains a container that exits and is restarted after a back-off. */
export function explainCrash(subject: Subject): Finding | undefined {
  const part = partsOf(subject.pod).find((one) => isCrashing(subject, one));
  const end = part && lastEnd(part);
  if (part === undefined || end === undefined) return undefined;
  const { container, path, status } = part;
  const killedBy = killedByProbe(subject, part, end) ?? killedByHook(subject, part, end);
  const meaning = killedBy ?? exitMeaning(subject, part, end);
  const isWaiting = status?.state?.waiting?.reason === reasons.crashLoopBackOff;
  const { field, cause, fixes } = meaning;
  return {
    stage: killedBy?.stage ?? 'back-off',
    container: container.name,
    ...(field !== undefined && { field: field.startsWith('spec.') ? field : `${path}.${field}` }),
    cause: `${named(subject, container)}${cause}`,
    evidence: [...endEvidence(part, end), ...(killedBy?.evidence ?? []), ...logEvidence(subject, part)],
    fixes,
    ...(isWaiting && nextStart(subject, part)),
  };
}

/** After this many restarts, a container that is not ready counts as crashing. */
const steadyRestarts = 3;

function isCrashing(subject: Subject, part: Part): boolean {
  const { status, isInit, container } = part;
  if (status === undefined) return false;
  const { waiting, running, terminated } = status.state ?? {};
  if (waiting?.reason === reasons.crashLoopBackOff) return true;
  if (terminated !== undefined) {
    return (
      startsAgain(container, subject.pod.spec, terminated.exitCode) &&
      (terminated.exitCode !== 0 || status.restartCount > 0)
    );
  }
  const end = status.lastState?.terminated;
  if (end === undefined || running === undefined || (isInit && !isSidecar(container))) return false;
  // Between two crashes the container runs for a moment.
  const isYoung = status.restartCount >= steadyRestarts && !status.ready;
  // If a probe had the container killed, it restarts under every policy except Never.
  return (
    isYoung &&
    (startsAgain(container, subject.pod.spec, end.exitCode) || killedByProbe(subject, part, end) !== undefined)
  );
}

function lastEnd({ status }: Part): ContainerStateTerminated | undefined {
  return status?.state?.terminated ?? status?.lastState?.terminated;
}

/** Returns the exit of a container as evidence. */
export function endEvidence({ container, status }: Part, end: ContainerStateTerminated): Evidence[] {
  const { reason = '', exitCode, message = '', finishedAt = '' } = end;
  const at = Date.parse(finishedAt);
  const restarts = status?.restartCount ?? 0;
  const text = `exited with code ${exitCode} (${reason}), ${restarts} restart${restarts === 1 ? '' : 's'}`;
  const output = message.trim() === '' ? '' : `: ${message.trim()}`;
  return [{ from: `container ${container.name}`, ...(at > 0 && { at }), text: `${text}${output}` }];
}

type KilledBy = Meaning & Pick<Finding, 'stage' | 'evidence'>;

/** Returns the probe that had this instance killed. Returns undefined if it exited by itself. */
function killedByProbe(
  subject: Subject,
  part: Part,
  { startedAt = '' }: ContainerStateTerminated,
): KilledBy | undefined {
  const { name } = part.container;
  const killing = newestEvent(subject, [reasons.killing], name);
  const [, kind] = /failed (liveness|startup) probe/.exec(killing?.message ?? '') ?? [];
  if (killing === undefined || kind === undefined || killing.at < Date.parse(startedAt)) return undefined;
  const unhealthy = newestEvent(subject, [reasons.unhealthy], name);
  const meaning = probeMeaning(subject, part, unhealthy?.message ?? '');
  return {
    ...meaning,
    stage: 'probe',
    cause: `it is killed by its ${kind} probe: ${meaning.cause}`,
    evidence: [...(unhealthy === undefined ? [] : [eventEvidence(unhealthy)]), eventEvidence(killing)],
  };
}

/** Returns the postStart hook that had this instance killed. Only the error of that sync has its output. */
function killedByHook(
  subject: Subject,
  { container: { name } }: Part,
  { startedAt = '' }: ContainerStateTerminated,
): KilledBy | undefined {
  const event = newestEvent(subject, [reasons.failedPostStartHook], name);
  if (event === undefined || event.at < Date.parse(startedAt)) return undefined;
  const errors = (subject.events ?? []).flatMap((one) => (one.type === 'SyncFinished' ? (one.error ?? []) : []));
  const known = errors.findLast((error) => error.includes(`PostStartHook of container ${name} failed: `)) ?? '';
  const [, problem = ''] = /PostStartHook of container \S+ failed: (.*)/s.exec(known) ?? [];
  return {
    stage: 'start',
    field: 'lifecycle.postStart',
    cause: `its postStart hook fails${problem === '' ? '' : `: ${problem.trim()}`}`,
    evidence: [eventEvidence(event)],
    fixes: ['Correct lifecycle.postStart.', `Read the output of the container: ${logsCommand(subject, name, '-p ')}`],
  };
}

function exitMeaning(subject: Subject, part: Part, end: ContainerStateTerminated): Meaning {
  const { container } = part;
  const read = `Read its output: ${logsCommand(subject, container.name, '-p ')}`;
  const { exitCode, reason, message = '' } = end;
  if (reason === 'OOMKilled') {
    const limit = container.resources?.limits?.['memory'];
    return {
      cause:
        limit === undefined
          ? 'ran out of memory (OOMKilled)'
          : `needs more than its memory limit of ${limit} (OOMKilled)`,
      fixes: [
        limit === undefined ? 'Free memory on this machine.' : 'Raise resources.limits.memory.',
        'Or find out why its memory grows.',
      ],
      ...(limit !== undefined && { field: 'resources.limits' }),
    };
  }
  if (exitCode === 0) return successMeaning(part, read);
  const output = `${message}\n${subject.logTails?.[container.name] ?? ''}`;
  const known = meaningOf(outputMessages, output, subject, part) ?? meaningOf(machineMessages, output);
  if (known) return { cause: `${known.cause} (exit code ${exitCode})`, fixes: [...known.fixes, read] };
  const code = exitCodes[exitCode];
  if (code) return { cause: `${code.cause} (exit code ${exitCode})`, fixes: [...code.fixes, read], field: 'command' };
  return {
    cause: `exits with code ${exitCode}`,
    fixes: [read, 'Correct the program, its arguments or its configuration.'],
  };
}

function successMeaning({ isInit }: Part, read: string): Meaning {
  if (isInit) return { cause: 'exits, although it is a sidecar', fixes: [read] };
  return {
    cause: 'exits with code 0, and restartPolicy Always starts it again',
    field: 'spec.restartPolicy',
    fixes: ['Set restartPolicy: OnFailure for a task, or run a command that does not exit.', read],
  };
}

/** Exit codes that mean the same for every program. */
const exitCodes: Readonly<Record<number, { cause: string; fixes: string[] }>> = {
  126: { cause: 'its command is not executable', fixes: ['Make it executable, or correct command.'] },
  127: { cause: 'its command, or one in its script, is not in its image', fixes: ['Correct command.'] },
  134: { cause: 'it aborts itself', fixes: [] },
  137: { cause: 'it is killed by SIGKILL', fixes: ['Look for a kill: kubelet-ts describe, dmesg'] },
  139: {
    cause: 'it crashes: segmentation fault',
    fixes: ['Check that its image is built for this processor: uname -m'],
  },
  143: { cause: 'it is stopped by SIGTERM', fixes: [] },
};

/** Common last lines of programs. */
const outputMessages: readonly KnownMessage<[Subject, Part]>[] = [
  {
    pattern: /exec format error/i,
    cause: (_found, _subject, { container }) =>
      `a program of ${container.image ?? 'its image'} is damaged on this node, or built for another processor`,
    fixes: (_found, _subject, { container }) => execFormatRemedies(container.image ?? ''),
  },
  {
    pattern: /(?:bind|listen)[^\n]*?(\S*:\d+)?[^\n]*address (?:already )?in use|EADDRINUSE[^\n]*?(\S*:\d+)?/i,
    cause: ([, port = '']) => `the port that it listens on is taken${port === '' ? '' : ` (${port})`}`,
    fixes: () => ['Find the program that listens: ss -ltnp', 'Or choose another port.'],
  },
  {
    pattern: /read-only file ?system|EROFS/i,
    cause: () => 'writes to a read-only file system',
    fixes: () => ['Mount an emptyDir where it writes, or unset securityContext.readOnlyRootFilesystem or readOnly.'],
  },
  {
    pattern: /permission denied|EACCES|operation not permitted/i,
    cause: () => 'may not do what it tries: permission denied',
    fixes: () => ['Check securityContext (runAsUser, fsGroup, capabilities) and the owner of its files.'],
  },
  {
    pattern: /no such host|name (?:or service not known|resolution)|bad address|ENOTFOUND/i,
    cause: () => 'cannot resolve a host name',
    fixes: (_found, subject) => {
      const event = newestEvent(subject, [reasons.noReachableNameServer]);
      if (event === undefined) return ['Check spec.dnsPolicy and dnsConfig, and /etc/resolv.conf in the container.'];
      return [
        `${event.message}.`,
        'Set dnsConfig.nameservers in the pod, or name another resolver file: kubelet-ts run --resolv-conf FILE',
      ];
    },
  },
  {
    pattern:
      /network is unreachable|no route to host|connection timed out|i\/o timeout|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT/i,
    cause: () => 'cannot reach another machine',
    fixes: () => ['Find what blocks the packets: kubelet-ts doctor', 'Or check that the other machine runs.'],
  },
  {
    pattern: /connection refused|ECONNREFUSED/i,
    cause: () => 'cannot reach a server that it needs',
    fixes: () => [
      'Check that the server runs: kubelet-ts ps',
      'Or start after it: annotation kubelet-ts.io/depends-on.',
    ],
  },
];
