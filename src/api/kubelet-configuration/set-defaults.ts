import { fieldsOfObject, type ObjectField, scalarZeros } from '../decoding/object-schema.ts';
import { type FieldRow, kubeletConfigurationFields } from './fields.ts';
import { resolveFeatureGates } from '../values/feature-gates.ts';
import { configurationObject, configurationSchema } from './schema.ts';
import type { GivenConfiguration, KubeletConfiguration } from './types.ts';

/**
 * Sets the defaults of absent fields. A zero counts as absent where the kubelet cannot distinguish the two, such as
 * `syncFrequency: 0s`. kubelet: apis/config/v1beta1/defaults.go SetDefaults_KubeletConfiguration
 */
export function setDefaults(given: GivenConfiguration): GivenConfiguration {
  return defaultsOf(configurationObject, { ...given, ...dependentDefaults(given) });
}

/** Completes a configuration that has its defaults: a field without a default gets Go's zero value. */
export function completeConfiguration(given: GivenConfiguration): KubeletConfiguration {
  return complete(configurationObject, given) as unknown as KubeletConfiguration;
}

const minute = 60_000;
const maxContainerBackOff = 5 * minute;

/** Defaults that depend on other fields. */
function dependentDefaults(given: GivenConfiguration): GivenConfiguration {
  const { featureGates } = resolveFeatureGates(setGates(given));
  const dependent: GivenConfiguration = {};
  if (isZero(given.nodeStatusReportFrequency) && !isZero(given.nodeStatusUpdateFrequency)) {
    dependent.nodeStatusReportFrequency = given.nodeStatusUpdateFrequency ?? 0;
  }
  if (isUnset(given.serializeImagePulls)) dependent.serializeImagePulls = (given.maxParallelImagePulls ?? 1) < 2;
  if ((given.podPidsLimit ?? -1) < 0) dependent.podPidsLimit = -1;
  // enforceNodeAllocatable was not set, so its default is dropped together with the pod cgroups that it needs.
  if (isUnset(given.enforceNodeAllocatable) && given.cgroupsPerQOS === false) dependent.enforceNodeAllocatable = [];
  if (featureGates.KubeletCrashLoopBackOffMax && isUnset(given.crashLoopBackOff?.maxContainerRestartPeriod)) {
    dependent.crashLoopBackOff = { maxContainerRestartPeriod: maxContainerBackOff };
  }
  if (featureGates.KubeletEnsureSecretPulledImages && isZero(given.imagePullCredentialsVerificationPolicy)) {
    dependent.imagePullCredentialsVerificationPolicy = 'NeverVerifyPreloadedImages';
  }
  if (given.mergeDefaultEvictionSettings === true) {
    const { default: evictionHard } = kubeletConfigurationFields.KubeletConfiguration.evictionHard;
    dependent.evictionHard = { ...evictionHard, ...given.evictionHard };
  }
  return dependent;
}

export function setGates(given: GivenConfiguration): Record<string, boolean> {
  return Object.fromEntries(Object.entries(given.featureGates ?? {}).filter(([, value]) => value !== null)) as Record<
    string,
    boolean
  >;
}

const isUnset = (value: unknown): boolean => value === undefined || value === null;
const isZero = (value: unknown): boolean => isUnset(value) || value === 0 || value === '';

const rows: Readonly<Record<string, Readonly<Record<string, FieldRow>>>> = kubeletConfigurationFields;

function defaultsOf(object: string, given: object): Record<string, unknown> {
  const values = new Map<string, unknown>(Object.entries(given));
  for (const [name, { kind, presence }] of fieldsOfObject(configurationSchema, object)) {
    const value = values.get(name);
    if (kind.type === 'object') {
      if (presence === 'pointer' && isUnset(value)) continue;
      values.set(name, defaultsOf(kind.name, toObject(value)));
    } else if (presence === 'pointer' ? isUnset(value) : isZero(value)) {
      const preset = rows[object]?.[name]?.default;
      if (preset !== undefined) values.set(name, structuredClone(preset));
    }
  }
  return Object.fromEntries(values);
}

function complete(object: string, given: object): Record<string, unknown> {
  const values = new Map<string, unknown>(Object.entries(given));
  for (const [name, field] of fieldsOfObject(configurationSchema, object)) {
    const value = completeValue(field, values.get(name));
    if (value === undefined) values.delete(name);
    else values.set(name, value);
  }
  return Object.fromEntries(values);
}

function completeValue({ kind, presence }: ObjectField, value: unknown): unknown {
  if (isUnset(value)) return presence === 'pointer' ? undefined : zeroOf(kind);
  if (kind.type === 'object') return complete(kind.name, toObject(value));
  if (kind.type === 'list' && kind.element.type === 'object' && Array.isArray(value)) {
    const { name } = kind.element;
    return value.map((item) => complete(name, toObject(item)));
  }
  return value;
}

function zeroOf(kind: ObjectField['kind']): unknown {
  if (kind.type === 'object') return complete(kind.name, {});
  if (kind.type === 'list') return [];
  return kind.type === 'map' ? {} : scalarZeros[kind.type];
}

function toObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
