import type { ConfigMap, Secret } from 'kubernetes-types/core/v1.js';
import {
  brokenRule,
  decodeManifestObject,
  type FieldProblem,
  firstProblems,
  type ManifestObject,
  problemOf,
} from '../decoding/manifest-object.ts';
import { independentErrors } from '../decoding/independent-errors.ts';
import { decodeBase64 } from '../text/base64.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { type ConfigObjectFields, validateConfigObject } from '../validation/validate-config-object.ts';
import type { ConfigData, ConfigObject } from '../values/config-object.ts';
import { FieldErrors } from '../values/field-errors.ts';
import { canonicalObject } from './canonical-form.ts';
import { nodeClassLoaders } from './load-node-class.ts';
import type { Loaders } from './loaders.ts';
import { loadService } from './load-service.ts';
import { serviceAddressLoaders } from './load-service-addresses.ts';
import { storageLoaders } from './load-storage-object.ts';

/** Loads an object that pods refer to. No problem quotes a value of a Secret. */
export function loadConfigObject(
  kind: ConfigObject['kind'],
  object: ManifestObject,
): { configObject?: ConfigObject; problems: ManifestProblem[] } {
  const { value, partial, problems } = decodeManifestObject(kind, object);
  const written = value ?? partial?.value;
  if (written === undefined) return { problems };
  const errors = new FieldErrors();
  const warnings: FieldProblem[] = [];
  const loaded = loaders[kind](canonicalObject(kind, written), errors, warnings);
  const own = independentErrors(errors.list, partial?.brokenFields ?? []);
  const found = [...own.map(brokenRule), ...(partial ? [] : warnings)];
  const located = firstProblems(found, (problem) => problem).map((problem) => problemOf(object, problem));
  const isValid = !partial && own.length === 0;
  return { ...(isValid && { configObject: loaded }), problems: [...problems, ...located] };
}

const loaders: Loaders<ConfigObject> = {
  ConfigMap: (value, errors) => {
    const written: ConfigMap = value;
    const fields = { data: textValues(written.data), binaryData: byteValues(written.binaryData) };
    return toConfigData(errors, 'ConfigMap', { written, fields, type: '' });
  },
  Secret: (value, errors) => {
    const written: Secret = value;
    const fields = { data: byteValues(written.data), stringData: textValues(written.stringData) };
    return toConfigData(errors, 'Secret', { written, fields, type: written.type ?? 'Opaque' });
  },
  Service: loadService,
  ...serviceAddressLoaders,
  ...nodeClassLoaders,
  ...storageLoaders,
};

function toConfigData(
  errors: FieldErrors,
  kind: ConfigData['kind'],
  { written, fields, type }: { written: ConfigMap | Secret; fields: ConfigObjectFields; type: string },
): ConfigData {
  const { metadata = {}, immutable = false } = written;
  const named = { ...metadata, name: metadata.name ?? '', namespace: metadata.namespace ?? 'default' };
  validateConfigObject(errors, { metadata: named, type, fields });
  return {
    kind,
    namespace: named.namespace,
    name: named.name,
    data: new Map([...(fields.data ?? []), ...(fields.stringData ?? [])]),
    binaryData: fields.binaryData ?? new Map(),
    type,
    immutable,
  };
}

function textValues(values: Record<string, string> | undefined): Map<string, Uint8Array> {
  const encoder = new TextEncoder();
  return new Map(Object.entries(values ?? {}).map(([key, text]) => [key, encoder.encode(text)]));
}

/** The decoder has checked that these values are base64. */
function byteValues(values: Record<string, string> | undefined): Map<string, Uint8Array> {
  return new Map(Object.entries(values ?? {}).map(([key, text]) => [key, decodeBase64(text) ?? new Uint8Array()]));
}
