import type { ConfigMap, Secret } from 'kubernetes-types/core/v1.js';
import {
  brokenRule,
  decodeManifestObject,
  firstProblems,
  type ManifestObject,
  problemOf,
} from '../decoding/manifest-object.ts';
import { decodeBase64 } from '../text/base64.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { type ConfigObjectFields, validateConfigObject } from '../validation/validate-config-object.ts';
import type { ConfigData } from '../values/config-object.ts';
import { FieldErrors } from '../values/field-errors.ts';

/** Loads a ConfigMap or a Secret with its values as bytes. No problem quotes a value of a Secret. */
export function loadConfigObject(
  kind: ConfigData['kind'],
  object: ManifestObject,
): { configObject?: ConfigData; problems: ManifestProblem[] } {
  const { value, problems } = decodeManifestObject(kind, object);
  if (value === undefined) return { problems };
  const { metadata = {}, ...written } = value as ConfigMap & Secret;
  const fields: ConfigObjectFields =
    kind === 'ConfigMap'
      ? { data: textValues(written.data), binaryData: byteValues(written.binaryData) }
      : { data: byteValues(written.data), stringData: textValues(written.stringData) };
  const named = { ...metadata, name: metadata.name ?? '', namespace: metadata.namespace ?? 'default' };
  const type = kind === 'Secret' ? (written.type ?? 'Opaque') : '';
  const errors = new FieldErrors();
  validateConfigObject(errors, { metadata: named, type, fields });
  if (errors.list.length > 0) {
    const broken = firstProblems(errors.list, brokenRule).map((problem) => problemOf(object, problem));
    return { problems: [...problems, ...broken] };
  }
  const configObject: ConfigData = {
    kind,
    namespace: named.namespace,
    name: named.name,
    data: new Map([...(fields.data ?? []), ...(fields.stringData ?? [])]),
    binaryData: fields.binaryData ?? new Map(),
    type,
    immutable: written.immutable ?? false,
  };
  return { configObject, problems };
}

function textValues(values: Record<string, string> | undefined): Map<string, Uint8Array> {
  const encoder = new TextEncoder();
  return new Map(Object.entries(values ?? {}).map(([key, text]) => [key, encoder.encode(text)]));
}

/** The decoder has checked that these values are base64. */
function byteValues(values: Record<string, string> | undefined): Map<string, Uint8Array> {
  return new Map(Object.entries(values ?? {}).map(([key, text]) => [key, decodeBase64(text) ?? new Uint8Array()]));
}
