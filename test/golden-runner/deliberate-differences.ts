import type { Container, ContainerStatus, Pod, PodSpec } from '../../src/api/types.ts';
import { unsafeTexts } from '../../src/api/validation/unsafe-texts.ts';
import { isDeepStrictEqual } from 'node:util';
import { flagsWithoutEffect } from '../../src/node/options/flags-without-effect.ts';
import { type ConfigurationCase, isFoundLater } from './configuration-case.ts';
import type { Difference } from './differences.ts';
import type { ManifestCase } from './manifest-case.ts';

/** What a difference was found in: a row of a table, or a manifest. */
export type Recording = { table: string; in: unknown; out: unknown } | ManifestCase;

/** A difference from the recorded kubelet that is meant; docs/reference/compatibility.md lists every one of them. */
export interface DeliberateDifference {
  /** What is done instead, in one sentence. */
  readonly reason: string;
  /** Whether it explains this difference: by what was recorded, never by the name of a case. */
  readonly covers: (difference: Difference, recording: Recording) => boolean;
}

export const deliberateDifferences: readonly DeliberateDifference[] = [
  {
    reason: 'a relative hostPath, and control characters but in what programs read, are refused',
    covers: (_difference, recording) => {
      const { accepted, pod } = 'table' in recording ? { accepted: false } : recording.expect;
      return accepted && pod !== undefined && unsafeTexts({ metadata: safeMetadata, spec: pod.spec }).length > 0;
    },
  },
  {
    reason: 'a "$" before a character that is not ASCII leaves that character whole',
    covers: ({ path }, recording) => 'table' in recording && recording.table === 'expansion' && path === 'resultBase64',
  },
  {
    reason: 'an optional reference to a ConfigMap or Secret that nobody declares leaves its variables out',
    covers: ({ path }, recording) => {
      if ('table' in recording) return false;
      const [, name] = /^runtime\.([^.]+)\.(?:envError|env|command|args)$/.exec(path) ?? [];
      const { runtime = {}, pod } = recording.expect;
      return runtime[name ?? '']?.envError === true && hasOptionalReference(pod?.spec.containers, name);
    },
  },
  {
    reason: 'an empty list of claims of the whole pod is no claim',
    covers: ({ path }, recording) =>
      (path === 'accepted' || path === 'saysWhy' || path.startsWith('fieldErrors')) &&
      !('table' in recording) &&
      recording.expect.fieldErrors.every(({ field }) => field === 'spec.resources.claims') &&
      /claims: *\[\]/.test(recording.manifest ?? ''),
  },
  {
    reason: 'apiVersion "__internal" is refused as every version that is not served',
    covers: (_difference, recording) =>
      !('table' in recording) && /^\s*"?apiVersion"? *: *["']?__internal\b/m.test(recording.manifest ?? ''),
  },
  {
    reason: 'a text in brackets that ends with ":" is a key, as YAML 1.2 has it, so it needs quotes',
    covers: (_difference, recording) =>
      !('table' in recording) && /: \[[^\]\n"']*:[,\]]/.test(recording.manifest ?? ''),
  },
  {
    reason: 'U+0085 is a character, not a line break',
    covers: (_difference, recording) => !('table' in recording) && (recording.manifest ?? '').includes('\u0085'),
  },
  {
    reason: 'an init container with exit code 0 in which the kernel killed a process is retried under OnFailure',
    covers: (_difference, recording) =>
      'table' in recording && recording.table === 'pod-actions' && hasOOMKilledInit(recording.in as ActionsInput),
  },
  {
    reason: 'a container that waits after it completed does not make its pod fail',
    covers: (_difference, recording) =>
      'table' in recording && recording.table === 'pod-phase' && waitsAfterCompletion(recording.in as PhaseInput),
  },
  {
    reason: 'readiness after a restart of the agent comes from its own record of the container',
    covers: (_difference, recording) =>
      'table' in recording && recording.table === 'pod-status' && 'kubeletStart' in (recording.in as object),
  },
  {
    reason: 'a container that is removed to restart with all others keeps the exit code that it had',
    covers: ({ path }, recording) =>
      'table' in recording &&
      recording.table === 'pod-status' &&
      /\.lastState\.terminated\.(?:exitCode|startedAt|finishedAt|containerID)$/.test(path) &&
      JSON.stringify(recording.out).includes('RestartingAllContainers'),
  },
  {
    reason: 'a policy option that is stable in 1.36 needs no gate, as it did in 1.32',
    covers: (_difference, recording) =>
      'table' in recording &&
      recording.out !== undefined &&
      JSON.stringify(recording.out).includes('-level Options not enabled, but option'),
  },
  {
    reason: 'failCgroupV1 is false by default, so a node with cgroup v1 starts',
    covers: ({ path, expected, actual }, recording) =>
      path.endsWith('flags.fail-cgroupv1') ||
      (isConfiguration(recording) &&
        path === 'refusedFor' &&
        actual === undefined &&
        isDeepStrictEqual(expected, ['failCgroupV1'])),
  },
  {
    reason:
      'without a configuration file the defaults are those of a file: no read-only port, no anonymous clients, no endpoint',
    covers: ({ path }, recording) =>
      (isConfiguration(recording) &&
        (recording.in as ConfigurationCase).config === undefined &&
        /^configuration\.(?:authentication|authorization|evictionHard|readOnlyPort)/.test(path)) ||
      /flags\.(?:anonymous-auth|authentication-token-webhook|authorization-mode|container-runtime-endpoint|eviction-hard|read-only-port)$/.test(
        path,
      ),
  },
  {
    reason: '/flagz shows a flag without effect only if it was given',
    covers: ({ path, actual }) => {
      const [, flag = ''] = /flags\.([a-z\d-]+)$/.exec(path) ?? [];
      return actual === undefined && isFlagWithoutEffect(`--${flag}`);
    },
  },
  {
    reason: 'mistakes that a kubelet finds later in its start are reported with the others',
    covers: ({ path, actual }, recording) =>
      isConfiguration(recording) &&
      (path === 'configuration' || (Array.isArray(actual) && actual.length > 0 && actual.every(isFoundLater))),
  },
  {
    reason: 'flags that kubelets have removed are accepted with a warning',
    covers: ({ path, actual }, recording) =>
      isConfiguration(recording) &&
      path === 'refusedFor' &&
      actual === undefined &&
      (recording.in as ConfigurationCase).flags?.every((flag) => isFlagWithoutEffect(flag)) === true,
  },
  {
    reason: 'Get of podresources needs no gate since 1.36',
    covers: ({ expected }) => expected === 'PodResources API Get method disabled',
  },
  {
    reason: 'an answer that was recorded of 1.32 is another in 1.36',
    covers: ({ path, expected, actual }, recording) =>
      (expected === undefined && path.startsWith('json.kubeletconfig.')) ||
      (path === 'status' && expected === 301 && actual === 307) ||
      (path === 'body' && typeof expected === 'string' && expected.endsWith('Moved Permanently</a>.\n\n')) ||
      (path === 'contentType' && typeof expected === 'string' && expected.endsWith('; escaping=values')) ||
      (path.startsWith('missing[') && actual === 'items[].metadata.creationTimestamp: null') ||
      /^json\.items\[\d+\]\.metadata\.creationTimestamp$/.test(path) ||
      ('table' in recording && isPassedOnV5(recording.in)),
  },
  {
    reason: 'why a state file is no checkpoint, or a pattern no regular expression, is said in other words',
    covers: ({ expected }) =>
      typeof expected === 'string' &&
      /state from checkpoint: (?:json: |invalid character|unexpected end of JSON)|error parsing regexp: /.test(
        expected,
      ),
  },
];

const isConfiguration = (recording: Recording): recording is Extract<Recording, { table: string }> =>
  'table' in recording && recording.table === 'config';

/** True for a WebSocket of v5 that the kubelet left to the runtime. */
function isPassedOnV5(recorded: unknown): boolean {
  const { request, response, offered, status } = recorded as {
    request?: { headers?: Record<string, string> };
    response?: { headers?: Record<string, string> };
    offered?: unknown;
    status?: number;
  };
  const isOffered = request?.headers?.['Sec-WebSocket-Protocol']?.includes('v5.channel.k8s.io') === true;
  const isRefused = Array.isArray(offered) && offered.includes('v5.channel.k8s.io') && status === 403;
  return isRefused || (isOffered && response?.headers?.['x-runtime'] !== undefined);
}

const isFlagWithoutEffect = (flag: string): boolean =>
  flagsWithoutEffect.some(([flags]) => flags.split(' ')[0] === flag.split('=')[0]);

interface ActionsInput {
  pod: Pod;
  containers: readonly { name: string; exitCode?: number; reason?: string }[];
}

function hasOOMKilledInit({ pod: { spec }, containers }: ActionsInput): boolean {
  return (spec.initContainers ?? []).some(
    ({ name, restartPolicy = spec.restartPolicy }) =>
      restartPolicy === 'OnFailure' &&
      containers.some((one) => one.name === name && one.exitCode === 0 && one.reason === 'OOMKilled'),
  );
}

interface PhaseInput {
  spec: PodSpec;
  statuses: readonly ContainerStatus[];
}

function waitsAfterCompletion({ spec, statuses }: PhaseInput): boolean {
  return spec.containers.some(({ name, restartPolicy = spec.restartPolicy }) => {
    const { state, lastState } = statuses.find((status) => status.name === name) ?? {};
    return restartPolicy === 'OnFailure' && state?.waiting !== undefined && lastState?.terminated?.exitCode === 0;
  });
}

function hasOptionalReference(containers: readonly Container[] = [], name: string | undefined): boolean {
  const { env = [], envFrom = [] } = containers.find((container) => container.name === name) ?? {};
  const references = [
    ...env.flatMap(({ valueFrom = {} }) => [valueFrom.configMapKeyRef, valueFrom.secretKeyRef]),
    ...envFrom.flatMap(({ configMapRef, secretRef }) => [configMapRef, secretRef]),
  ];
  return references.some((reference) => reference?.optional === true);
}

/** That of recordings is written in other ways. */
const safeMetadata = { name: 'web', namespace: 'default', uid: 'u' };
