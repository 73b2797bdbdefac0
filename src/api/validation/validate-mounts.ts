import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { hasBackstep, validateDescendingPath } from './paths.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** Mounts and raw devices of a container. kubelet: validation.go ValidateVolumeMounts, ValidateVolumeDevices */
export function validateMounts(
  errors: FieldErrors,
  field: string,
  container: core.Container,
  volumes: PodVolumes,
): void {
  validateVolumeMounts(errors, `${field}.volumeMounts`, container, volumes);
  validateVolumeDevices(errors, `${field}.volumeDevices`, container, volumes);
}

function validateVolumeMounts(
  errors: FieldErrors,
  field: string,
  container: core.Container,
  volumes: PodVolumes,
): void {
  const mountPaths = new Set<string>();
  // If several devices have the same name, only the last one counts.
  const devices = new Map((container.volumeDevices ?? []).map(({ devicePath, name }) => [name, devicePath]));
  const devicePaths = new Set(devices.values());
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const path = `${field}[${index}]`;
    const { mountPath, name, subPath = '', subPathExpr = '' } = mount;
    if (name === '') errors.required(`${path}.name`);
    if (!volumes.valid.has(name)) volumeNotFound(errors, `${path}.name`, name, volumes);
    if (mountPath === '') errors.required(`${path}.mountPath`, undefined, 'Such as "mountPath: /data".');
    if (mountPaths.has(mountPath)) errors.invalid(`${path}.mountPath`, mountPath, 'must be unique');
    mountPaths.add(mountPath);
    if (devices.has(name)) errors.invalid(`${path}.name`, name, 'is in volumeDevices as well');
    if (devicePaths.has(mountPath)) errors.invalid(`${path}.mountPath`, mountPath, 'is in volumeDevices as well');
    // These errors of the API server lack the index.
    validateDescendingPath(errors, `${field}.subPath`, subPath);
    validateDescendingPath(errors, `${field}.subPathExpr`, subPathExpr);
    if (subPath !== '' && subPathExpr !== '') {
      errors.invalid(`${path}.subPathExpr`, subPathExpr, 'cannot be set with subPath');
    }
    validatePropagation(errors, `${field}.mountPropagation`, mount, container);
    validateRecursiveReadOnly(errors, `${field}.recursiveReadOnly`, mount);
  }
}

function validatePropagation(
  errors: FieldErrors,
  field: string,
  { mountPropagation }: core.VolumeMount,
  container: core.Container,
): void {
  if (mountPropagation === undefined) return;
  errors.unsupportedUnless(field, mountPropagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (mountPropagation === 'Bidirectional' && !container.securityContext?.privileged) {
    errors.forbidden(field, 'Bidirectional is for privileged containers only');
  }
}

function validateRecursiveReadOnly(errors: FieldErrors, field: string, mount: core.VolumeMount): void {
  const { mountPropagation = 'None', readOnly, recursiveReadOnly = 'Disabled' } = mount;
  errors.unsupportedUnless(field, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') return;
  if (!readOnly) errors.forbidden(field, 'needs readOnly true');
  if (mountPropagation !== 'None') errors.forbidden(field, 'needs mountPropagation None');
}

function validateVolumeDevices(
  errors: FieldErrors,
  field: string,
  container: core.Container,
  volumes: PodVolumes,
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounts = new Map((container.volumeMounts ?? []).map(({ mountPath, name }) => [name, mountPath]));
  const mountPaths = new Set(mounts.values());
  for (const [index, { devicePath, name }] of (container.volumeDevices ?? []).entries()) {
    const path = `${field}[${index}]`;
    const volume = volumes.valid.get(name);
    if (name === '') errors.required(`${path}.name`);
    if (names.has(name)) errors.invalid(`${path}.name`, name, 'must be unique');
    if (!volume) volumeNotFound(errors, `${path}.name`, name, volumes);
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      errors.invalid(`${path}.name`, name, 'must be a persistentVolumeClaim or an ephemeral volume');
    }
    if (devicePath === '') errors.required(`${path}.devicePath`);
    if (paths.has(devicePath)) errors.invalid(`${path}.devicePath`, devicePath, 'must be unique');
    if (hasBackstep(devicePath)) errors.invalid(`${path}.devicePath`, devicePath, 'must not contain ".."');
    else paths.add(devicePath);
    if (mounts.has(name)) errors.invalid(`${path}.name`, name, 'is in volumeMounts as well');
    if (mountPaths.has(devicePath)) errors.invalid(`${path}.devicePath`, devicePath, 'is in volumeMounts as well');
    if (name !== '') names.add(name);
  }
}

function volumeNotFound(errors: FieldErrors, field: string, name: string, { valid, broken }: PodVolumes): void {
  if (broken.has(name)) errors.notFound(field, name, [], 'Its declaration has errors: correct those first.');
  else errors.notFound(field, name, valid.keys(), 'Declare it in spec.volumes.');
}
