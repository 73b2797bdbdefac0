import type { Container, Pod } from '../../src/api/types.ts';
import { unsafeTexts } from '../../src/api/validation/unsafe-texts.ts';
import { isSidecar } from '../../src/api/values/sidecars.ts';
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
    reason:
      'an init container that the runtime lost has completed if a regular container came, as since Kubernetes 1.35',
    covers: (_difference, recording) =>
      'table' in recording && recording.table === 'pod-status' && hasLostInitContainer(recording.in as StatusInput),
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

interface StatusInput {
  pod: Pod;
  containers: readonly { name: string; state: string }[];
}

function hasLostInitContainer({ pod: { spec }, containers }: StatusInput): boolean {
  const isIn = ({ name }: Container): boolean => containers.some((one) => one.name === name && one.state !== 'unknown');
  const init = (spec.initContainers ?? []).filter((container) => !isSidecar(container));
  return spec.containers.some(isIn) && !init.every(isIn);
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
