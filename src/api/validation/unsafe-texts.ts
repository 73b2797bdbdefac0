import type { Pod } from '../types.ts';
import { type FieldError, FieldErrors } from '../values/field-errors.ts';
import { byteLength, hasControlCharacter } from '../values/names.ts';

/**
 * Errors for strings that would do harm: that end a line of a file or a log, cannot be a file name, or name a file
 * relative to the agent's working directory. The kubelet accepts them, but none is useful.
 */
export function unsafeTexts({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): FieldError[] {
  const errors = new FieldErrors();
  validateUID(errors, metadata);
  const { labels, annotations, ownerReferences, finalizers } = metadata;
  inspect(errors, 'metadata', { labels, annotations, ownerReferences, finalizers });
  inspect(errors, 'spec', spec);
  for (const [index, { hostPath }] of (spec.volumes ?? []).entries()) {
    const path = hostPath?.path ?? '/';
    const hint = 'Begin it with "/".';
    if (!path.startsWith('/')) errors.invalid(`spec.volumes[${index}].hostPath.path`, path, 'must be absolute', hint);
  }
  return errors.list;
}

/** Adds errors for such strings in the spec of an object other than a pod. */
export function validateSpecTexts(errors: FieldErrors, spec: object): void {
  inspect(errors, 'spec', spec);
}

/** Longer than any UID of the kubelet, and short enough for folder names. */
const maxUIDLength = 128;
/** Limits of Linux file systems on a file name and on a path, in bytes. */
const maxNameBytes = 255;
const maxPathBytes = 4095;

/** UIDs become names of folders, cgroups and labels. In cgroup names "_" stands for "-". */
function validateUID(errors: FieldErrors, { namespace, name, uid }: Pod['metadata']): void {
  const rule = `must be 1 to ${maxUIDLength} letters, digits, "-" and ".", and start and end with a letter or digit`;
  if (uid.length > maxUIDLength || !/^[A-Za-z0-9](?:[-.A-Za-z0-9]*[A-Za-z0-9])?$/.test(uid)) {
    errors.invalid('metadata.uid', uid, rule);
  } else if (byteLength(`${namespace}_${name}_${uid}`) > maxNameBytes) {
    const message = `namespace, name with that of the node, and UID must be no more than ${maxNameBytes - 2} bytes together`;
    errors.tooLong('metadata.name', `${message}, because the log folder is named after them`);
  }
}

/** Free-text fields, because they are passed to a program or are not used here. */
const freeStrings: ReadonlySet<string> = new Set([
  'annotations',
  'args',
  'command',
  'gmsaCredentialSpec',
  'volumeAttributes',
]);
const paths: ReadonlySet<string> = new Set([
  'devicePath',
  'localhostProfile',
  'mountPath',
  'path',
  'subPath',
  'subPathExpr',
  'terminationMessagePath',
]);

function inspect(errors: FieldErrors, field: string, value: unknown, key = '', isFree = false): void {
  if (typeof value === 'string') {
    inspectText(errors, field, value, isFree);
    if (paths.has(key)) inspectPath(errors, field, value);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      inspect(errors, `${field}[${index}]`, item, key === 'env' ? 'envVar' : '', isFree);
    }
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const isText = isFree || freeStrings.has(name) || (key === 'envVar' && name === 'value');
    inspect(errors, `${field}.${name}`, member, name, isText || (key === 'flexVolume' && name === 'options'));
  }
}

/** Half of a surrogate pair, which a YAML escape can produce. */
const halfCharacter = /\p{Surrogate}/u;

function inspectText(errors: FieldErrors, field: string, text: string, isFree: boolean): void {
  if (text.includes('\0')) errors.invalid(field, text, 'must not contain NUL characters');
  else if (halfCharacter.test(text)) errors.invalid(field, text, 'must not contain halves of characters');
  else if (!isFree && hasControlCharacter(text)) {
    errors.invalid(field, text, 'must not contain line breaks or other control characters');
  }
}

function inspectPath(errors: FieldErrors, field: string, path: string): void {
  if (byteLength(path) > maxPathBytes) errors.tooLong(field, `must be no more than ${maxPathBytes} bytes`);
  else if (path.split('/').some((name) => byteLength(name) > maxNameBytes)) {
    errors.tooLong(field, `must have no more than ${maxNameBytes} bytes between two "/"`);
  }
}
