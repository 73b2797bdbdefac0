import type { Container } from '../../api/types.ts';
import { reasons } from '../view/reasons.ts';
import { execFormatRemedies } from './explain-image.ts';
import type { Finding } from './explanation.ts';
import { type KnownMessage, lastClause, machineMessages, type Meaning, meaningOf } from './known-message.ts';
import {
  eventEvidence,
  named,
  newestEvent,
  nextStart,
  type Part,
  partsOf,
  type Subject,
  waitingEvidence,
} from './subject.ts';

const startReasons: readonly string[] = [
  reasons.createContainerConfigError,
  reasons.createContainerError,
  reasons.runContainerError,
];

/** Explains a container that cannot be created or started. */
export function explainContainerStart(subject: Subject): Finding | undefined {
  const part = partsOf(subject.pod).find((one) => startFailure(one) !== undefined);
  const message = part && startFailure(part);
  if (part === undefined || message === undefined) return undefined;
  const { container, path } = part;
  const event = newestEvent(subject, [reasons.failed], container.name);
  const meaning = startMeaning(message, part, subject);
  return {
    stage: 'start',
    container: container.name,
    ...(meaning.field !== undefined && { field: `${path}.${meaning.field}` }),
    cause: `${named(subject, container)}${meaning.cause}`,
    evidence: [waitingEvidence(part), ...(event === undefined ? [] : [eventEvidence(event)])],
    fixes: meaning.fixes,
    ...nextStart(subject, part),
  };
}

/** Returns the runtime's message about a failed start, even if the container now waits for its next start. */
function startFailure({ status }: Part): string | undefined {
  const { reason = '', message = '' } = status?.state?.waiting ?? {};
  if (startReasons.includes(reason)) return message;
  const end = status?.lastState?.terminated ?? status?.state?.terminated;
  return end?.reason === 'StartError' ? (end.message ?? '') : undefined;
}

/** Returns the meaning of the runtime's message about a failed start. */
export function startMeaning(message: string, part: Part, { pod: { metadata } }: Subject): Meaning {
  const meaning = meaningOf(startMessages, message, part) ?? meaningOf(machineMessages, message);
  const fixes = [`Read the events: kubelet-ts describe ${metadata.namespace}/${metadata.name}`];
  return meaning ?? { cause: `cannot start: ${lastClause(message)}`, fixes };
}

const objectNamed = (kind: string): 'ConfigMap' | 'Secret' => (/secret/i.test(kind) ? 'Secret' : 'ConfigMap');

/** Returns the field through which a container takes its environment from this object. */
function fieldNaming({ env = [], envFrom = [] }: Container, kind: 'ConfigMap' | 'Secret', name: string): string {
  const isSecret = kind === 'Secret';
  const all = envFrom.findIndex((one) => (isSecret ? one.secretRef : one.configMapRef)?.name === name);
  if (all >= 0) return `envFrom[${all}].${isSecret ? 'secretRef' : 'configMapRef'}`;
  const one = env.findIndex(
    ({ valueFrom }) => (isSecret ? valueFrom?.secretKeyRef : valueFrom?.configMapKeyRef)?.name === name,
  );
  return one < 0 ? 'env' : `env[${one}].valueFrom.${isSecret ? 'secretKeyRef' : 'configMapKeyRef'}`;
}

/** Messages of this agent and of runc, the more specific first. */
const startMessages: readonly KnownMessage<[part: Part]>[] = [
  {
    pattern: /context canceled/,
    cause: () => 'its start was cut off, because kubelet-ts or the runtime was killed',
    fixes: () => [],
  },
  {
    pattern: /couldn't find key (\S+) in (ConfigMap|Secret) (\S+)/,
    cause: ([, key = '', kind = '', name = '']) => `${kind} ${name} has no key ${key}`,
    fixes: ([, key = '', kind = '', name = '']) => [
      `Add the key ${key} to the manifest of ${kind} ${name}, or correct its name here.`,
      'Or set optional: true.',
    ],
    field: 'env',
  },
  {
    pattern: /(configmap|secret) "([^"]+)" not found/,
    cause: ([, kind = '', name = '']) => `no manifest declares ${objectNamed(kind)} ${name}`,
    fixes: ([, kind = '', name = '']) => [
      `Declare ${objectNamed(kind)} ${name} in a manifest next to the pod, in the namespace of the pod.`,
      'Or set optional: true.',
    ],
    field: ([, kind = '', name = ''], { container }) => fieldNaming(container, objectNamed(kind), name),
  },
  {
    pattern: /may not run as root \(runAsNonRoot\), but (.*)/,
    cause: ([, problem = '']) => `runAsNonRoot forbids it: ${problem}`,
    fixes: () => ['Set securityContext.runAsUser to a number above 0, or use an image whose USER is not root.'],
    field: 'securityContext',
  },
  {
    pattern: /exec: "([^"]+)": (?:executable file not found|stat \S+: no such file|.*no such file or directory)/,
    cause: ([, command = '']) => `its image has no command "${command}"`,
    fixes: () => ['Correct command, or leave it out to run the command of the image.'],
    field: 'command',
  },
  {
    pattern: /exec: "([^"]+)": permission denied/,
    cause: ([, command = '']) => `"${command}" is not executable`,
    fixes: () => ['Make it executable in the image or volume (chmod +x), or correct command.'],
    field: 'command',
  },
  {
    pattern: /container init: (?:mkdir|chdir to cwd) \(?"?([^\s")]+)"?\)?(?: set in config\.json failed)?: ([\w ]+)/,
    cause: ([, path = '', reason = '']) => `its workingDir ${path} cannot be entered: ${reason}`,
    fixes: () => ['Correct workingDir, or leave it out to use that of the image.'],
    field: 'workingDir',
  },
  {
    // A runtime that does not know the field sees a mount without a host path.
    pattern: /failed to mkdir "": mkdir : no such file/,
    cause: () => 'the container runtime cannot mount an image volume',
    fixes: () => ['Update the runtime: containerd 2.1 and CRI-O 1.31 mount image volumes.'],
  },
  {
    pattern: /the container runtime cannot mount a subPath of the image volume .*/,
    cause: ([text = '']) => text,
    fixes: () => ['Update the runtime: containerd 2.2 and CRI-O 1.33 mount parts of images.', 'Mount the whole image.'],
    field: 'volumeMounts',
  },
  {
    pattern: /exec format error/,
    cause: (_found, { container }) =>
      `${container.image ?? ''} is damaged on this node, or built for another processor`,
    fixes: (_found, { container }) => execFormatRemedies(container.image ?? ''),
    field: 'image',
  },
  {
    pattern:
      /container init was OOM-killed|memory limit too low|minimum memory limit|memory\.(?:max|limit_in_bytes).*(?:busy|invalid)/i,
    cause: (_found, { container }) =>
      `its memory limit of ${container.resources?.limits?.['memory'] ?? ''} is too low to start`,
    fixes: () => ['Raise resources.limits.memory.'],
    field: 'resources.limits',
  },
  {
    pattern:
      /failed to (?:prepare subPath|create subPath directory) for volumeMount "([^"]+)" of container "[^"]+": (.*)/s,
    cause: ([, volume = '', because = '']) => `a subPath of volume ${volume} cannot be mounted: ${because}`,
    fixes: () => ['Correct subPath, or what is at that path of the volume. A link must not lead out of the volume.'],
    field: 'volumeMounts',
  },
  {
    pattern: /path "?([^"\s]+)"? is mounted on "?([^"\s]+)"? but it is not a shared/,
    cause: ([, path = '', mount = '']) =>
      `its mountPropagation needs shared mounts, but ${path} is on ${mount}, which is private on this machine`,
    fixes: ([, , mount = '']) => [
      `Share it, and repeat this after each boot: mount --make-rshared ${mount}`,
      'Or leave out mountPropagation, if it is enough to see what is mounted now.',
    ],
    field: 'volumeMounts',
  },
  {
    pattern: /mount.*(?:not a directory|are you trying to mount a directory onto a file)/is,
    cause: () => 'a volume is a file where its image has a folder, or the reverse',
    fixes: () => ['Mount the volume elsewhere, or name one file of it with subPath.'],
    field: 'volumeMounts',
  },
  {
    pattern: /read-only file system/i,
    cause: () => 'a mount point cannot be created in the read-only root of its image',
    fixes: () => ['Mount at a folder that the image has, or unset securityContext.readOnlyRootFilesystem.'],
    field: 'volumeMounts',
  },
  {
    pattern: /address already in use/i,
    cause: () => 'a port that it needs is in use on this machine',
    fixes: () => ['Find the program that listens: ss -ltnp', 'Or choose another port.'],
    field: 'ports',
  },
];
