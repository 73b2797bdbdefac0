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
  /** Of the file, in hexadecimal digits. It differs after each change of the object. */
  sha256: string;
}

/** What an apply or a deletion did, or would do, to one object. */
export interface AppliedResult extends AppliedObject {
  result: 'created' | 'configured' | 'unchanged' | 'deleted';
}

/** Longest name that a file is named for. The name of a file has 255 bytes. */
const maxNameLength = 120;

/** Name of the file of an object. Names that a file system cannot take are hashed. */
export function appliedFileName({ kind, namespace, name }: AppliedObject): string {
  const parts = [namespace, name].map((part) => (isPlain(part) ? part : `_${hashOf(part)}`));
  return `${[kind.toLowerCase(), ...parts].join('.')}.json`;
}

const isPlain = (text: string): boolean => text.length <= maxNameLength && /^[a-z0-9.-]*$/.test(text);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** As by kubectl: `pod/web`, `deployment.apps/web`. */
export function appliedName({ kind, name }: Pick<AppliedObject, 'kind' | 'name'>): string {
  return `${resourceName(kind)}/${name}`;
}

/** As by kubectl: `pod`, `deployment.apps`. */
export function resourceName(kind: SupportedKind): string {
  const [group = '', version] = supportedKinds[kind].split('/');
  return `${kind.toLowerCase()}${version === undefined ? '' : `.${group}`}`;
}

const shortNames: Readonly<Record<string, SupportedKind>> = {
  po: 'Pod',
  cm: 'ConfigMap',
  cj: 'CronJob',
  ds: 'DaemonSet',
  deploy: 'Deployment',
  rs: 'ReplicaSet',
  rc: 'ReplicationController',
  sts: 'StatefulSet',
  pc: 'PriorityClass',
  pvc: 'PersistentVolumeClaim',
  pv: 'PersistentVolume',
  svc: 'Service',
};

/** The kind that a word of a command line means: `pod`, `pods`, `po`, `deployment.apps`. Undefined if it means none. */
export function kindMeant(word: string): SupportedKind | undefined {
  const plain = word.toLowerCase().split('.')[0] ?? '';
  if (Object.hasOwn(shortNames, plain)) return shortNames[plain];
  return Object.keys(supportedKinds)
    .filter(isSupportedKind)
    .find((kind) => [kind, `${kind}s`, `${kind}es`].some((name) => name.toLowerCase() === plain));
}

/**
 * The object that the name of a pod means if its namespace looks like a kind: `deployment/web` for `deploymnt/web`.
 * Returns undefined for any other name. No namespace is read as a misspelt `pod`, because many are called `prod`.
 */
export function misspeltKind({ kind, namespace, name }: AppliedObject): string | undefined {
  if (kind !== 'Pod') return undefined;
  const meant = nearestKind(namespace);
  return meant === undefined || meant === 'Pod' ? undefined : `${meant.toLowerCase()}/${name}`;
}

/** The object in the text of an applied manifest. Returns undefined if the text was damaged. */
export function objectOfText(text: string): AppliedObject | undefined {
  try {
    const { kind, metadata } = JSON.parse(text) as { kind: string; metadata: { namespace?: string; name: string } };
    const { namespace = 'default', name } = metadata;
    return isSupportedKind(kind) && typeof name === 'string' ? appliedObject(kind, namespace, name) : undefined;
  } catch {
    return undefined;
  }
}

/** The object that a request names. Its namespace is ignored for a kind without namespaces. */
export function appliedObject(kind: SupportedKind, namespace: string, name: string): AppliedObject {
  return { kind, namespace: isNamespaced(kind) ? namespace : '', name };
}
