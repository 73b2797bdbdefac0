import type * as core from 'kubernetes-types/core/v1.js';
import { splitSubscript } from '../values/field-ref.ts';
import { formatQuantity, toQuantity } from '../values/quantity.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import {
  checkAnnotationKey,
  checkConfigMapKey,
  checkDNS1123Label,
  checkDNS1123Subdomain,
  checkDNS1123SubdomainPrefix,
  checkRelaxedEnvVarName,
  checkQualifiedName,
} from '../values/names.ts';
import { validateFileMode, validateFilePath, validateNoBacksteps } from './paths.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** Environment of a container. kubelet: validation.go ValidateEnv, ValidateEnvFrom */
export function validateEnvironment(
  errors: FieldErrors,
  field: string,
  container: core.Container,
  volumes: PodVolumes,
): void {
  for (const [index, envVar] of (container.env ?? []).entries()) {
    const path = `${field}.env[${index}]`;
    if (envVar.name === '') errors.required(`${path}.name`);
    else errors.invalidIf(`${path}.name`, envVar.name, checkRelaxedEnvVarName(envVar.name));
    if (!envVar.valueFrom) continue;
    validateValueFrom(errors, `${path}.valueFrom`, envVar.valueFrom, envVar.value ?? '');
    const { fileKeyRef } = envVar.valueFrom;
    if (fileKeyRef) validateFileKeyRef(errors, `${path}.valueFrom.fileKeyRef`, fileKeyRef, volumes);
  }
  for (const [index, source] of (container.envFrom ?? []).entries()) {
    validateEnvFrom(errors, `${field}.envFrom`, index, source);
  }
}

function validateValueFrom(errors: FieldErrors, field: string, source: core.EnvVarSource, value: string): void {
  const { configMapKeyRef, fieldRef, resourceFieldRef, secretKeyRef } = source;
  if (fieldRef) validateFieldRef(errors, `${field}.fieldRef`, fieldRef, envFieldPaths);
  if (resourceFieldRef) validateResourceFieldRef(errors, `${field}.resourceFieldRef`, resourceFieldRef, false);
  if (configMapKeyRef) validateKeyRef(errors, `${field}.configMapKeyRef`, configMapKeyRef);
  if (secretKeyRef) validateKeyRef(errors, `${field}.secretKeyRef`, secretKeyRef);

  const sources = Object.keys(source).length;
  if (sources === 0) {
    errors.invalid(field, '', 'needs one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef');
  } else if (value !== '') {
    errors.invalid(field, '', 'cannot be set with value');
  } else if (sources > 1) {
    errors.invalid(field, '', 'may have only one source');
  }
}

/** kubelet: validation.go validateFileKeyRef */
function validateFileKeyRef(
  errors: FieldErrors,
  field: string,
  { key, path, volumeName }: core.FileKeySelector,
  { valid, broken }: PodVolumes,
): void {
  const nameField = `${field}.volumeName`;
  if (volumeName === '') errors.required(nameField);
  else errors.invalidIf(nameField, volumeName, checkDNS1123Label(volumeName));
  const volume = valid.get(volumeName);
  if (!volume) errors.notFound(nameField, volumeName, broken.has(volumeName) ? [] : valid.keys());
  else if (!volume.emptyDir) errors.invalid(nameField, volumeName, 'must be an emptyDir volume');
  if (path === '') errors.required(`${field}.path`);
  else validateNoBacksteps(errors, `${field}.path`, path);
  if (key === '') errors.required(`${field}.key`);
  else errors.invalidIf(`${field}.key`, key, checkRelaxedEnvVarName(key));
}

function validateKeyRef(
  errors: FieldErrors,
  field: string,
  { key, name = '' }: core.ConfigMapKeySelector | core.SecretKeySelector,
): void {
  errors.invalidNameUnless(`${field}.name`, name, checkDNS1123Subdomain);
  if (key === '') errors.required(`${field}.key`);
  else errors.invalidIf(`${field}.key`, key, checkConfigMapKey(key));
}

function validateEnvFrom(errors: FieldErrors, field: string, index: number, source: core.EnvFromSource): void {
  const { configMapRef, prefix = '', secretRef } = source;
  if (prefix !== '') errors.invalidIf(`${field}[${index}].prefix`, prefix, checkRelaxedEnvVarName(prefix));
  for (const [kind, ref] of Object.entries({ configMapRef, secretRef })) {
    if (!ref) continue;
    const path = `${field}[${index}].${kind}.name`;
    if (!ref.name) errors.required(path);
    else errors.invalidIf(path, ref.name, checkDNS1123SubdomainPrefix(ref.name));
  }
  if (!configMapRef && !secretRef) errors.invalid(field, '', 'needs one of configMapRef and secretRef');
  if (configMapRef && secretRef) errors.invalid(field, '', 'may have only one source');
}

/** A file of a downward API volume; its errors lack the index. kubelet: validation.go validateDownwardAPIVolumeFile */
export function validateDownwardFile(errors: FieldErrors, field: string, file: core.DownwardAPIVolumeFile): void {
  const { fieldRef, mode, path, resourceFieldRef } = file;
  if (path === '') errors.required(`${field}.path`);
  validateFilePath(errors, `${field}.path`, path);
  if (fieldRef) {
    validateFieldRef(errors, `${field}.fieldRef`, fieldRef, volumeFieldPaths);
    if (resourceFieldRef) errors.invalid(field, 'resource', 'fieldRef and resourceFieldRef cannot both be set');
  } else if (resourceFieldRef) {
    validateResourceFieldRef(errors, `${field}.resourceFieldRef`, resourceFieldRef, true);
  } else {
    errors.required(field, 'needs one of fieldRef and resourceFieldRef');
  }
  validateFileMode(errors, `${field}.mode`, mode);
}

const envFieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const volumeFieldPaths = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** Field paths that the API accepts. kubelet: pkg/apis/core/pods ConvertDownwardAPIFieldLabel */
const knownFieldPaths = [
  ...envFieldPaths,
  'metadata.annotations',
  'metadata.labels',
  'spec.host',
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
];

function validateFieldRef(
  errors: FieldErrors,
  field: string,
  { apiVersion = '', fieldPath }: core.ObjectFieldSelector,
  allowed: readonly string[],
): void {
  if (apiVersion === '' || fieldPath === '') {
    errors.required(`${field}.${apiVersion === '' ? 'apiVersion' : 'fieldPath'}`);
    return;
  }
  const subscripted = splitSubscript(fieldPath);
  const isKnown = subscripted
    ? subscripted.path === 'metadata.labels' || subscripted.path === 'metadata.annotations'
    : knownFieldPaths.includes(fieldPath);
  if (apiVersion !== 'v1' || !isKnown) {
    errors.invalid(`${field}.fieldPath`, fieldPath, `is not a field of a pod in apiVersion "${apiVersion}"`);
  } else if (!subscripted) {
    errors.unsupportedUnless(`${field}.fieldPath`, fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath, allowed);
  } else {
    const check = subscripted.path === 'metadata.labels' ? checkQualifiedName : checkAnnotationKey;
    errors.invalidIf(field, subscripted.subscript, check(subscripted.subscript));
  }
}

const computeResources = ['cpu', 'memory', 'ephemeral-storage'];
const resourceFields = ['limits', 'requests'].flatMap((part) => computeResources.map((name) => `${part}.${name}`));
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

function validateResourceFieldRef(
  errors: FieldErrors,
  field: string,
  { containerName = '', divisor, resource }: core.ResourceFieldSelector,
  needsContainer: boolean,
): void {
  const isHugePages = /^(?:limits|requests)\.hugepages-/.test(resource);
  if (needsContainer && containerName === '') errors.required(`${field}.containerName`);
  else if (resource === '') errors.required(`${field}.resource`);
  else if (!isHugePages) errors.unsupportedUnless(`${field}.resource`, resource, resourceFields);

  const quantity = toQuantity(divisor);
  if (quantity.nanos === 0n || (!isHugePages && !resourceFields.includes(resource))) return;
  const divisors = resource.endsWith('.cpu') ? ['1m', '1'] : byteDivisors;
  if (!divisors.includes(formatQuantity(quantity))) {
    errors.invalid(`${field}.divisor`, divisor, `must be one of ${divisors.join(', ')} for ${resource}`);
  }
}
