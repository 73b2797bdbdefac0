import { type ManifestDocument, readManifest } from '../decoding/manifest-document.ts';
import type { ManifestNode } from '../text/manifest-node.ts';
import { decodeManifestObject, type ManifestObject, readerWarnings, problemOf } from '../decoding/manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { objectType } from '../decoding/object-type.ts';
import { kubeletConfigurationFields } from './fields.ts';
import { configurationObject, configurationSchema } from './schema.ts';
import type { GivenConfiguration } from './types.ts';

/** A decoded configuration file. `given` is absent if the file has an error. */
export interface DecodedConfiguration {
  given?: GivenConfiguration;
  problems: ManifestProblem[];
  /** The parsed text, which has the positions of fields. Absent if it could not be read. */
  document?: ManifestDocument;
}

const {
  apiVersion: { default: apiVersion },
  kind: { default: kind },
} = kubeletConfigurationFields.KubeletConfiguration;
const hint = `A configuration starts with "apiVersion: ${apiVersion}" and "kind: ${kind}".`;

/**
 * Decodes a configuration file or drop-in, YAML or JSON. Unknown fields and repeated keys are warnings, because the
 * kubelet falls back to a lenient decoder for them. In a drop-in a repeated key is an error. Keeps null values.
 *
 * kubelet: kubeletconfig/util/codec/codec.go DecodeKubeletConfiguration, DecodeKubeletConfigurationIntoJSON
 */
export function decodeKubeletConfiguration(
  bytes: Uint8Array | string,
  origin: string,
  { isDropIn = false }: { isDropIn?: boolean | undefined } = {},
): DecodedConfiguration {
  const reading = readManifest(bytes, origin);
  if ('problem' in reading) return { problems: [reading.problem] };
  const { document } = reading;
  const object: ManifestObject = { document, node: document.root, path: '' };
  const typeProblem = checkType(object);
  if (typeProblem) return { problems: [typeProblem], document };
  const repeated = readerWarnings(document);
  if (isDropIn && repeated.length > 0) return { problems: repeated.map(asError), document };
  const { value, problems } = decodeManifestObject(configurationObject, object, configurationSchema);
  const all = [...repeated, ...problems];
  // The decoder's schema and this type are derived from one table.
  return value === undefined
    ? { problems: all, document }
    : { given: withNulls(value, document.root), problems: all, document };
}

const asError = (problem: ManifestProblem): ManifestProblem => ({ ...problem, severity: 'error' });

function checkType(object: ManifestObject): ManifestProblem | undefined {
  if (object.node.kind !== 'object') {
    const found = object.node.kind === 'null' ? 'nothing' : `a ${object.node.kind}`;
    return problemOf(object, { field: '', message: `Expected a ${kind}, found ${found}`, hint, severity: 'error' });
  }
  const read = objectType(object);
  if ('problem' in read) return { ...read.problem, hint };
  const refuse = (field: 'apiVersion' | 'kind'): ManifestProblem =>
    problemOf(object, { field, message: `${field} "${read.type[field]}" is not supported`, hint, severity: 'error' });
  if (read.type.kind !== kind) return refuse('kind');
  return read.type.apiVersion === apiVersion ? undefined : refuse('apiVersion');
}

/** Restores the nulls that the decoder drops: in a drop-in, null removes the value of an earlier file. */
function withNulls(value: Record<string, unknown>, node: ManifestNode): Record<string, unknown> {
  if (node.kind !== 'object') return value;
  const known = new Map(Object.entries(value));
  for (const { key, value: child } of node.entries) {
    const decoded = known.get(key);
    if (child.kind === 'null') known.set(key, null);
    else if (isObject(decoded)) known.set(key, withNulls(decoded, child));
  }
  return Object.fromEntries(known);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
