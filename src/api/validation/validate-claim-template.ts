import type * as core from 'kubernetes-types/core/v1.js';
import { toQuantity } from '../values/quantity.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import { validateAnnotations, validateLabels, validateLabelSelector } from './labels.ts';
import { checkDNS1123Label, checkDNS1123Subdomain } from '../values/names.ts';

/** The claim of an ephemeral volume. kubelet: validation.go ValidatePersistentVolumeClaimTemplate */
export function validateClaimTemplate(
  errors: FieldErrors,
  field: string,
  { metadata = {}, spec }: core.PersistentVolumeClaimTemplate,
): void {
  const { annotations, labels, ...others } = metadata;
  validateAnnotations(errors, `${field}.metadata.annotations`, annotations);
  validateLabels(errors, `${field}.metadata.labels`, labels);
  for (const name of Object.keys(others)) {
    // The API server's path has the Go name with its first letter in lower case.
    errors.forbidden(`${field}.metadata.${name === 'uid' ? 'uID' : name}`, 'cannot be set');
  }
  validateClaimSpec(errors, `${field}.spec`, spec);
}

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

export function validateClaimSpec(errors: FieldErrors, field: string, spec: core.PersistentVolumeClaimSpec): void {
  validateAccessModes(errors, `${field}.accessModes`, spec.accessModes ?? []);
  validateLabelSelector(errors, `${field}.selector`, spec.selector);
  const storageField = `${field}.resources[storage]`;
  const storage = spec.resources?.requests?.['storage'];
  if (storage === undefined) errors.required(storageField);
  else if (toQuantity(storage).nanos <= 0n) errors.invalid(storageField, storage, 'must be greater than zero');
  if (spec.storageClassName) {
    errors.invalidIf(`${field}.storageClassName`, spec.storageClassName, checkDNS1123Subdomain(spec.storageClassName));
  }
  if (spec.volumeMode !== undefined) {
    errors.unsupportedUnless(`${field}.volumeMode`, spec.volumeMode, ['Block', 'Filesystem']);
  }
  validateDataSources(errors, field, spec);
}

export function validateAccessModes(errors: FieldErrors, field: string, modes: readonly string[]): void {
  if (modes.length === 0) errors.required(field, 'needs at least one access mode');
  for (const mode of modes) errors.unsupportedUnless(field, mode, accessModes);
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode));
  if (others.length > 0 && modes.includes('ReadWriteOncePod')) {
    errors.forbidden(field, 'ReadWriteOncePod may not be combined with other access modes');
  }
}

function validateDataSources(errors: FieldErrors, field: string, spec: core.PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource) validateDataSource(errors, `${field}.dataSource`, dataSource);
  if (dataSourceRef) validateDataSource(errors, `${field}.dataSourceRef`, dataSourceRef);
  const namespace = dataSourceRef?.namespace ?? '';
  if (namespace !== '') {
    errors.invalidIf(`${field}.dataSourceRef.namespace`, namespace, checkDNS1123Label(namespace));
    if (dataSource) errors.invalid(field, 'dataSource', 'cannot be set with dataSourceRef.namespace');
  } else if (dataSource && dataSourceRef) {
    const isSame = (['apiGroup', 'kind', 'name'] as const).every((name) => dataSource[name] === dataSourceRef[name]);
    if (!isSame) errors.invalid(field, 'dataSource', 'must match dataSourceRef');
  }
}

function validateDataSource(errors: FieldErrors, field: string, source: core.TypedLocalObjectReference): void {
  const { apiGroup = '', kind, name } = source;
  if (name === '') errors.required(`${field}.name`);
  if (kind === '') errors.required(`${field}.kind`);
  if (apiGroup !== '') errors.invalidIf(`${field}.apiGroup`, apiGroup, checkDNS1123Subdomain(apiGroup));
  else if (kind !== 'PersistentVolumeClaim')
    errors.invalid(field, kind, 'must be PersistentVolumeClaim without apiGroup');
}
