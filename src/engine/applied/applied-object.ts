import { createHash } from 'node:crypto';
import { type SupportedKind, supportedKinds, isSupportedKind, nearestKind } from '../../api/decoding/manifest-kinds.ts';
import { isNamespaced } from '../../api/objects/object-texts.ts';

/** The identity of an applied object. */
export interface AppliedObject {
  kind: SupportedKind;
  /** Empty for a kind without namespaces. */
  namespace: string;
  name: string;
}

/** An applied object on disk. */
export interface KeptObject extends AppliedObject {
  file: string;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
  /** SHA-256 of the file, in hex. It changes with each change of the object. */
  sha256: string;
}

/** What an apply or a deletion did, or would do, to one object. */
export interface AppliedResult extends AppliedObject {
  result: 'created' | 'configured' | 'unchanged' | 'deleted';
}

/** A longer name is hashed, because a file name has at most 255 bytes. */
const maxNameLength = 120;

/** Returns the name of an object's file. Hashes names that are not valid in a file system. */
export function appliedFileName({ kind, namespace, name }: AppliedObject): string {
  const parts = [namespace, name].map((part) => (isPlain(part) ? part : `_${hashOf(part)}`));
  return `${[kind.toLowerCase(), ...parts].join('.')}.json`;
}

const isPlain = (text: string): boolean => text.length <= maxNameLength && /^[a-z0-9.-]*$/.test(text);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Returns the name as kubectl prints it: `pod/web`, `deployment.apps/web`. */
export function appliedName({ kind, name }: Pick<AppliedObject, 'kind' | 'name'>): string {
  return `${resourceName(kind)}/${name}`;
}

/** Returns the resource as kubectl prints it: `pod`, `deployment.apps`. */
export function resourceName(kind: SupportedKind): string {
  const [group = '', version] = supportedKinds[kind].split('/');
  return `${kind.toLowerCase()}${version === undefined ? '' : `.${group}`}`;
}

/** Returns the resource in errors of kubectl: `pods`, `deployments.apps`. */
export function pluralName(kind: SupportedKind): string {
  const [group = '', version] = supportedKinds[kind].split('/');
  const singular = kind.toLowerCase();
  const plural = singular.endsWith('ss') ? `${singular}es` : singular.endsWith('s') ? singular : `${singular}s`;
  return `${plural}${version === undefined ? '' : `.${group}`}`;
}

const shortNames: Readonly<Record<string, SupportedKind>> = {
  po: 'Pod',
  cm: 'ConfigMap',
  cj: 'CronJob',
  ds: 'DaemonSet',
  ep: 'Endpoints',
  deploy: 'Deployment',
  rs: 'ReplicaSet',
  rc: 'ReplicationController',
  sts: 'StatefulSet',
  pc: 'PriorityClass',
  pvc: 'PersistentVolumeClaim',
  pv: 'PersistentVolume',
  svc: 'Service',
};

/** Returns the kind that a word of a command line means: `pod`, `pods`, `po`, `deployment.apps`. Undefined if none. */
export function resolveKind(word: string): SupportedKind | undefined {
  const plain = word.toLowerCase().split('.')[0] ?? '';
  if (Object.hasOwn(shortNames, plain)) return shortNames[plain];
  return Object.keys(supportedKinds)
    .filter(isSupportedKind)
    .find((kind) => [kind, `${kind}s`, `${kind}es`].some((name) => name.toLowerCase() === plain));
}

/**
 * Returns the object that a pod's name probably means if its namespace looks like a kind: `deployment/web` for
 * `deploymnt/web`. Returns undefined for any other name. Never guesses `pod`, because many namespaces are called
 * `prod`.
 */
export function misspeltKind({ kind, namespace, name }: AppliedObject): string | undefined {
  if (kind !== 'Pod') return undefined;
  const near = nearestKind(namespace);
  return near === undefined || near === 'Pod' ? undefined : `${near.toLowerCase()}/${name}`;
}

/** Returns the object in the text of an applied manifest. Returns undefined if the text was damaged. */
export function objectOfText(text: string): AppliedObject | undefined {
  try {
    const { kind, metadata } = JSON.parse(text) as { kind: string; metadata: { namespace?: string; name: string } };
    const { namespace = 'default', name } = metadata;
    return isSupportedKind(kind) && typeof name === 'string' ? appliedObject(kind, namespace, name) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the object that a request names. Ignores the namespace if the kind has none. */
export function appliedObject(kind: SupportedKind, namespace: string, name: string): AppliedObject {
  return { kind, namespace: isNamespaced(kind) ? namespace : '', name };
}
