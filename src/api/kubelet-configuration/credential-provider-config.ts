import { readManifest } from '../decoding/manifest-document.ts';
import {
  brokenRule,
  decodeManifestObject,
  type ManifestObject,
  readerWarnings,
  problemOf,
} from '../decoding/manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { parseSchema } from '../decoding/object-schema.ts';
import { objectType } from '../decoding/object-type.ts';
import { FieldErrors } from '../values/field-errors.ts';

/** A program that provides the credentials of some registries. kubelet: kubelet.config.k8s.io/v1 CredentialProvider */
export interface CredentialProvider {
  /** File name of the program. */
  name: string;
  /** Patterns of the images for which the program is run. */
  matchImages: string[];
  /** Milliseconds to cache an answer that sets no duration itself. */
  defaultCacheDuration: number;
  /** API version of the program's requests and answers. */
  apiVersion: string;
  args: string[];
  env: { name: string; value: string }[];
}

const providerFields = {
  name: '!string',
  matchImages: '[]string',
  defaultCacheDuration: '*duration',
  apiVersion: 'string',
  args: '[]string',
  env: '[]ExecEnvVar',
};

const schema = parseSchema({
  CredentialProviderConfig: { apiVersion: 'string', kind: 'string', providers: '[]CredentialProvider' },
  CredentialProvider: providerFields,
  ExecEnvVar: { name: '!string', value: '!string' },
});

const kind = 'CredentialProviderConfig';
const configVersions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `kubelet.config.k8s.io/${version}`);
const pluginVersions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `credentialprovider.kubelet.k8s.io/${version}`);

/**
 * Reads the file of --image-credential-provider-config, YAML or JSON. Returns no providers if the file has an error.
 * Unknown fields are errors, as in the kubelet. kubelet: credentialprovider/plugin/config.go
 */
export function loadCredentialProviderConfig(
  bytes: Uint8Array,
  origin: string,
): { providers?: CredentialProvider[]; problems: ManifestProblem[] } {
  const reading = readManifest(bytes, origin);
  if ('problem' in reading) return { problems: [reading.problem] };
  const { document } = reading;
  const object: ManifestObject = { document, node: document.root, path: '' };
  const typeProblem = checkType(object);
  if (typeProblem !== undefined) return { problems: [typeProblem] };
  const { value, problems } = decodeManifestObject(kind, object, schema);
  const strict = [...readerWarnings(document), ...problems].map((problem) => ({
    ...problem,
    severity: 'error' as const,
  }));
  if (value === undefined || strict.length > 0) return { problems: strict };
  // The decoder returns values of the types in the schema.
  const { providers = [] } = value as { providers?: Partial<CredentialProvider>[] };
  const errors = new FieldErrors();
  validate(errors, providers);
  if (errors.list.length > 0) return { problems: errors.list.map((error) => problemOf(object, brokenRule(error))) };
  return { providers: providers.map(withDefaults), problems: [] };
}

function checkType(object: ManifestObject): ManifestProblem | undefined {
  const hint = `It starts with "apiVersion: ${configVersions[0] ?? ''}" and "kind: ${kind}".`;
  const refuse = (field: string, message: string): ManifestProblem =>
    problemOf(object, { field, message, hint, severity: 'error' });
  if (object.node.kind !== 'object') return refuse('', `Expected a ${kind}`);
  const read = objectType(object);
  if ('problem' in read) return { ...read.problem, hint };
  const { apiVersion } = read.type;
  if (read.type.kind !== kind) return refuse('kind', `kind "${read.type.kind}" is not supported`);
  return configVersions.includes(apiVersion)
    ? undefined
    : refuse('apiVersion', `apiVersion "${apiVersion}" is not supported`);
}

function validate(errors: FieldErrors, providers: readonly Partial<CredentialProvider>[]): void {
  if (providers.length === 0) errors.required('providers', 'at least one provider is needed');
  const names = new Set<string>();
  for (const [index, { name = '', matchImages = [], apiVersion = '', defaultCacheDuration }] of providers.entries()) {
    const field = `providers[${index}]`;
    if (name === '') errors.required(`${field}.name`);
    else if (/[/ ]/.test(name) || name === '.' || name === '..') {
      errors.invalid(`${field}.name`, name, 'must be the name of a file, without spaces and slashes');
    }
    if (names.has(name)) errors.duplicate(`${field}.name`, name);
    names.add(name);
    if (apiVersion === '') errors.required(`${field}.apiVersion`);
    else errors.unsupportedUnless(`${field}.apiVersion`, apiVersion, pluginVersions);
    if (matchImages.length === 0) errors.required(`${field}.matchImages`, 'at least one pattern is needed');
    if (defaultCacheDuration === undefined) errors.required(`${field}.defaultCacheDuration`);
    else if (defaultCacheDuration < 0) {
      errors.invalid(`${field}.defaultCacheDuration`, defaultCacheDuration, 'must not be negative');
    }
  }
}

function withDefaults(provider: Partial<CredentialProvider>): CredentialProvider {
  const { name = '', matchImages = [], defaultCacheDuration = 0, apiVersion = '', args = [], env = [] } = provider;
  return { name, matchImages, defaultCacheDuration, apiVersion, args, env };
}
