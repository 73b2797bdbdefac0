import type { EnvFromSource, EnvVarSource } from 'kubernetes-types/core/v1.js';
import { expand } from '../../api/expand.ts';
import type { Container, EnvVar, Pod } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { containerResourceValue, type DownwardSources, podFieldValue } from './downward-env.ts';

export interface EnvironmentVariable {
  name: string;
  value: string;
}

/** The values of a ConfigMap or Secret by key, as text; undefined if there is no such object. */
export type ConfigLookup = (namespace: string, name: string) => ReadonlyMap<string, string> | undefined;

/** What variables are made from besides the manifest. */
export interface EnvironmentSources extends DownwardSources {
  lookupConfigMap?: ConfigLookup;
  lookupSecret?: ConfigLookup;
}

type ConfigKind = 'ConfigMap' | 'Secret';

/**
 * Environment of a container: envFrom in order, then env in order, a later one overwriting an earlier one of the same
 * name. Throws a `UserError` that names a reference which leads nowhere.
 * kubelet: kubelet_pods.go makeEnvironmentVariables
 */
export function makeEnvironment(pod: Pod, container: Container, sources: EnvironmentSources): EnvironmentVariable[] {
  const variables = new Map<string, string>();
  for (const source of container.envFrom ?? []) {
    for (const [name, value] of envFromVariables(pod, container, source, sources)) variables.set(name, value);
  }
  for (const variable of container.env ?? []) {
    const value = envValue(pod, container, variable, variables, sources);
    if (value !== undefined) variables.set(variable.name, value);
  }
  return [...variables].map(([name, value]) => ({ name, value }));
}

function envFromVariables(
  pod: Pod,
  container: Container,
  { prefix = '', configMapRef, secretRef }: EnvFromSource,
  sources: EnvironmentSources,
): [string, string][] {
  const where = `envFrom of container "${container.name}"`;
  const configMap = configMapRef && lookup('ConfigMap', pod, configMapRef, sources, where);
  const secret = secretRef && lookup('Secret', pod, secretRef, sources, where);
  return [...(configMap ?? []), ...(secret ?? [])]
    .map(([key, value]): [string, string] => [prefix + key, value])
    .filter(([name]) => isEnvironmentName(name));
}

/** Undefined: the variable is left out, because what it refers to is optional and missing. */
function envValue(
  pod: Pod,
  container: Container,
  { name, value = '', valueFrom }: EnvVar,
  earlier: ReadonlyMap<string, string>,
  sources: EnvironmentSources,
): string | undefined {
  // Only written values are expanded, never what a source gives.
  if (value !== '') return expand(value, (reference) => earlier.get(reference));
  return valueFrom ? sourceValue(pod, container, name, valueFrom, sources) : '';
}

function sourceValue(
  pod: Pod,
  container: Container,
  name: string,
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef }: EnvVarSource,
  sources: EnvironmentSources,
): string | undefined {
  const where = `env "${name}" of container "${container.name}"`;
  if (fieldRef) return podFieldValue(pod, fieldRef.fieldPath, sources, where);
  if (resourceFieldRef) return containerResourceValue(pod, container, resourceFieldRef, sources, where);
  if (configMapKeyRef) return keyValue('ConfigMap', pod, configMapKeyRef, sources, where);
  if (secretKeyRef) return keyValue('Secret', pod, secretKeyRef, sources, where);
  return '';
}

function keyValue(
  kind: ConfigKind,
  pod: Pod,
  reference: { name?: string; key: string; optional?: boolean },
  sources: EnvironmentSources,
  where: string,
): string | undefined {
  const value = lookup(kind, pod, reference, sources, where)?.get(reference.key);
  if (value !== undefined || reference.optional) return value;
  throw new UserError(
    `${where}: ${kind} "${pod.metadata.namespace}/${reference.name ?? ''}" has no key "${reference.key}"`,
    { hint: `Add the key to the ${kind}, or set optional: true.` },
  );
}

/** Undefined: the object is missing and optional. */
function lookup(
  kind: ConfigKind,
  { metadata: { namespace } }: Pod,
  { name = '', optional }: { name?: string; optional?: boolean },
  { lookupConfigMap, lookupSecret }: EnvironmentSources,
  where: string,
): ReadonlyMap<string, string> | undefined {
  const values = (kind === 'ConfigMap' ? lookupConfigMap : lookupSecret)?.(namespace, name);
  if (values || optional) return values;
  throw new UserError(`${where}: there is no ${kind} "${namespace}/${name}"`, {
    hint: `Put a ${kind} of that name beside the manifest of the pod, or set optional: true.`,
  });
}

/** Keys that cannot be a variable's name are passed over. kubelet: apimachinery validation IsRelaxedEnvVarName */
function isEnvironmentName(name: string): boolean {
  return /^[ -<>-~]+$/.test(name);
}
