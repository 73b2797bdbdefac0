import type { EnvFromSource, EnvVarSource } from 'kubernetes-types/core/v1.js';
import type { ConfigData, ConfigObjectLookup } from '../../../api/values/config-object.ts';
import { podLevelAmounts } from '../../../api/values/pod-level-resources.ts';
import { expand } from '../../../api/values/expand.ts';
import type { Container, EnvVar, Pod } from '../../../api/types.ts';
import { UserError } from '../../../errors.ts';
import { envFileValue } from './env-file.ts';
import { containerResourceValue, type DownwardSources, podFieldValue } from '../../../api/values/downward-api.ts';

export interface EnvironmentVariable {
  name: string;
  value: string;
}

/** Texts of the files that `fileKeyRef`s name, by `envFileKey`. */
export type EnvFiles = ReadonlyMap<string, string>;

type FileKeySelector = NonNullable<EnvVarSource['fileKeyRef']>;

export const envFileKey = ({ volumeName, path }: FileKeySelector): string => `${volumeName}\0${path}`;

/** Sources of variables besides the manifest. */
export interface EnvironmentSources extends DownwardSources {
  configObjects: ConfigObjectLookup;
  envFiles: EnvFiles;
  /** Variables of Services. The manifest may refer to them or replace them. */
  serviceVariables?: ReadonlyMap<string, string>;
}

/**
 * Environment of a container: envFrom in order, then env in order, then variables of Services. A later variable of the
 * manifest replaces an earlier one with the
 * same name. Throws a `UserError` if a reference is broken. kubelet: kubelet_pods.go makeEnvironmentVariables
 */
export function makeEnvironment(pod: Pod, container: Container, sources: EnvironmentSources): EnvironmentVariable[] {
  const variables = new Map<string, string>();
  for (const source of container.envFrom ?? []) {
    for (const [name, value] of envFromVariables(pod, source, sources)) variables.set(name, value);
  }
  for (const variable of container.env ?? []) {
    const value = envValue(pod, container, variable, variables, sources);
    if (value !== undefined) variables.set(variable.name, value);
  }
  for (const [name, value] of sources.serviceVariables ?? []) if (!variables.has(name)) variables.set(name, value);
  return [...variables].map(([name, value]) => ({ name, value }));
}

function envFromVariables(
  pod: Pod,
  { prefix = '', configMapRef, secretRef }: EnvFromSource,
  sources: EnvironmentSources,
): [string, string][] {
  const configMap = configMapRef && lookup('ConfigMap', pod, configMapRef, sources);
  const secret = secretRef && lookup('Secret', pod, secretRef, sources);
  return [...(configMap?.data ?? []), ...(secret?.data ?? [])].map(([key, value]) => [prefix + key, text(value)]);
}

/** Returns undefined if the optional source is missing; the variable is then left out. */
function envValue(
  pod: Pod,
  container: Container,
  { name, value = '', valueFrom }: EnvVar,
  earlier: ReadonlyMap<string, string>,
  sources: EnvironmentSources,
): string | undefined {
  // Only values in the manifest are expanded, not those from a source.
  if (value !== '')
    return expand(value, (reference) => earlier.get(reference) ?? sources.serviceVariables?.get(reference));
  return valueFrom ? sourceValue(pod, container, name, valueFrom, sources) : '';
}

function sourceValue(
  pod: Pod,
  container: Container,
  name: string,
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef }: EnvVarSource,
  sources: EnvironmentSources,
): string | undefined {
  const where = `env "${name}" of container "${container.name}"`;
  if (fieldRef) return podFieldValue(pod, fieldRef.fieldPath, sources, where);
  if (resourceFieldRef) {
    // A container without a limit has the pod's limit. In a volume it has the node's amount.
    const allocatable = { ...sources.allocatable, ...podLevelAmounts(pod.spec, 'limits') };
    return containerResourceValue(pod, container, resourceFieldRef, { allocatable }, where);
  }
  if (configMapKeyRef) return keyValue('ConfigMap', pod, configMapKeyRef, sources);
  if (secretKeyRef) return keyValue('Secret', pod, secretKeyRef, sources);
  if (fileKeyRef) return fileValue(fileKeyRef, sources);
  return '';
}

function keyValue(
  kind: ConfigData['kind'],
  pod: Pod,
  reference: { name?: string; key: string; optional?: boolean },
  sources: EnvironmentSources,
): string | undefined {
  const { name = '', key, optional = false } = reference;
  const value = lookup(kind, pod, reference, sources)?.data.get(key);
  if (value !== undefined) return text(value);
  if (optional) return undefined;
  throw new UserError(`couldn't find key ${key} in ${kind} ${pod.metadata.namespace}/${name}`, {
    hint: `Add the key to the ${kind}, or set optional: true.`,
  });
}

/** kubelet: kubelet_pods.go makeEnvironmentVariables */
function fileValue(reference: FileKeySelector, { envFiles }: EnvironmentSources): string | undefined {
  const { key, path, optional = false } = reference;
  const value = envFileValue(envFiles.get(envFileKey(reference)) ?? '', key);
  if (value !== undefined || optional) return value;
  throw new UserError(`environment variable key "${key}" not found in file "${path}"`, {
    hint: 'Write the key with a value into the file, or set optional: true.',
  });
}

/** Returns undefined if the object is optional and missing. */
function lookup(
  kind: ConfigData['kind'],
  { metadata: { namespace } }: Pod,
  { name = '', optional = false }: { name?: string; optional?: boolean },
  { configObjects }: EnvironmentSources,
): ConfigData | undefined {
  const object = configObjects.get(kind, namespace, name);
  if (object !== undefined || optional) return object;
  throw new UserError(`${kind.toLowerCase()} "${name}" not found`, {
    hint: `Add a ${kind} with this name next to the manifest of the pod, or set optional: true.`,
  });
}

/** Replaces invalid UTF-8, as runtimes do. */
const text = (value: Uint8Array): string => Buffer.from(value).toString('utf8');
