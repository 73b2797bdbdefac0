import type { PersistentVolumeClaim, PersistentVolumeSpec } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { CSIDriver } from 'kubernetes-types/storage/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Subdomain } from '../values/names.ts';
import { toQuantity } from '../values/quantity.ts';
import { validateDriverName } from './driver-name.ts';
import { validateNoBacksteps } from './paths.ts';
import { validateSpecTexts } from './unsafe-texts.ts';
import { validateAccessModes, validateClaimSpec } from './validate-claim-template.ts';
import { validateObjectMeta } from './validate-metadata.ts';
import { validateClusterMeta } from './validate-node-class.ts';

type Named = ObjectMeta & { name: string; namespace: string };

const noBlockVolumes = 'Block: block volumes are not supported here';

/** kubelet: pkg/apis/core/validation/validation.go ValidatePersistentVolumeClaim */
export function validateClaim(errors: FieldErrors, metadata: Named, { spec = {} }: PersistentVolumeClaim): void {
  validateObjectMeta(errors, metadata);
  validateSpecTexts(errors, spec);
  validateClaimSpec(errors, 'spec', spec);
  if (spec.volumeMode === 'Block') errors.forbidden('spec.volumeMode', noBlockVolumes);
  if (spec.dataSource ?? spec.dataSourceRef) {
    errors.forbidden('spec.dataSource', 'nothing fills a new volume here');
  }
}

/** Sources of a PersistentVolume that this program mounts. */
const mountable = ['csi', 'hostPath', 'local', 'nfs'] as const;

/** Fields of a PersistentVolume besides its source. */
const otherFields: ReadonlySet<string> = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

/** kubelet: pkg/apis/core/validation/validation.go ValidatePersistentVolume */
export function validateVolume(
  errors: FieldErrors,
  metadata: ObjectMeta | undefined,
  spec: PersistentVolumeSpec,
): void {
  validateClusterMeta(errors, metadata);
  validateSpecTexts(errors, spec);
  validateAccessModes(errors, 'spec.accessModes', spec.accessModes ?? []);
  const storage = spec.capacity?.['storage'];
  if (storage === undefined) errors.required('spec.capacity.storage');
  else if (toQuantity(storage).nanos <= 0n)
    errors.invalid('spec.capacity.storage', storage, 'must be greater than zero');
  const { storageClassName = '', volumeMode = 'Filesystem', persistentVolumeReclaimPolicy = 'Retain' } = spec;
  if (storageClassName !== '') {
    errors.invalidIf('spec.storageClassName', storageClassName, checkDNS1123Subdomain(storageClassName));
  }
  errors.unsupportedUnless('spec.volumeMode', volumeMode, ['Block', 'Filesystem']);
  if (volumeMode === 'Block') errors.forbidden('spec.volumeMode', noBlockVolumes);
  errors.unsupportedUnless('spec.persistentVolumeReclaimPolicy', persistentVolumeReclaimPolicy, [
    'Delete',
    'Recycle',
    'Retain',
  ]);
  validateSource(errors, spec);
}

function validateSource(errors: FieldErrors, spec: PersistentVolumeSpec): void {
  const kinds = Object.keys(spec).filter((field) => !otherFields.has(field));
  const [kind, another] = kinds;
  if (kind === undefined) {
    errors.required('spec', `must have one of ${mountable.join(', ')}`);
    return;
  }
  if (another !== undefined) errors.forbidden(`spec.${another}`, 'may not specify more than 1 volume type');
  if (!mountable.some((one) => one === kind)) {
    errors.forbidden(`spec.${kind}`, `volumes of this kind are not supported: use ${mountable.join(', ')}`);
  }
  const { csi, hostPath, local, nfs } = spec;
  if (local) validatePath(errors, 'spec.local.path', local.path);
  if (hostPath) validatePath(errors, 'spec.hostPath.path', hostPath.path);
  if (nfs) {
    if (nfs.server === '') errors.required('spec.nfs.server');
    validatePath(errors, 'spec.nfs.path', nfs.path);
  }
  if (csi) {
    // The kubelet has two errors for an empty name in a pod. One is enough here.
    if (csi.driver === '') errors.required('spec.csi.driver');
    else validateDriverName(errors, 'spec.csi.driver', csi.driver);
    if (csi.volumeHandle === '') errors.required('spec.csi.volumeHandle');
  }
}

function validatePath(errors: FieldErrors, field: string, path: string): void {
  if (path === '') errors.required(field);
  else if (!path.startsWith('/')) errors.invalid(field, path, 'must be an absolute path');
  else validateNoBacksteps(errors, field, path);
}

/** kubelet: pkg/apis/storage/validation/validation.go ValidateCSIDriver */
export function validateCSIDriver(errors: FieldErrors, { metadata, spec }: CSIDriver): void {
  validateClusterMeta(errors, metadata);
  const { fsGroupPolicy, volumeLifecycleModes = [] } = spec;
  if (fsGroupPolicy !== undefined) {
    errors.unsupportedUnless('spec.fsGroupPolicy', fsGroupPolicy, ['ReadWriteOnceWithFSType', 'File', 'None']);
  }
  for (const mode of volumeLifecycleModes) {
    errors.unsupportedUnless('spec.volumeLifecycleModes', mode, ['Persistent', 'Ephemeral']);
  }
}
