import type * as core from 'kubernetes-types/core/v1.js';
import type { VolumeSources } from '../values/by-kind.ts';
import { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label, checkDNS1123Subdomain } from '../values/names.ts';
import { toQuantity } from '../values/quantity.ts';
import { validateDriverName } from './driver-name.ts';
import type { PodVolumes } from './pod-volumes.ts';
import { validateDescendingPath, validateFileMode, validateNoBacksteps } from './paths.ts';
import { validateClaimTemplate } from './validate-claim-template.ts';
import { validateDownwardFile } from './validate-env.ts';
import { legacyVolumeRules, type VolumeRule } from './validate-legacy-volumes.ts';
import { validateKeysToPaths, validateProjectedVolume } from './validate-projected-volume.ts';

/** kubelet: validation.go ValidateVolumes */
export function validateVolumes(errors: FieldErrors, spec: core.PodSpec, podName: string): PodVolumes {
  const valid = new Map<string, core.Volume>();
  const broken = new Set<string>();
  const volumes = spec.volumes ?? [];
  const madeClaims = new Set(volumes.filter(({ ephemeral }) => ephemeral).map(({ name }) => `${podName}-${name}`));
  for (const [index, volume] of volumes.entries()) {
    const field = `spec.volumes[${index}]`;
    const found = new FieldErrors();
    validateSource(found, field, volume, podName);
    if (volume.name === '') found.required(`${field}.name`);
    else found.invalidNameUnless(`${field}.name`, volume.name, checkDNS1123Label);
    if (valid.has(volume.name)) found.duplicate(`${field}.name`, volume.name);
    if (found.list.length === 0) valid.set(volume.name, volume);
    else broken.add(volume.name);
    errors.addAll(found.list);
    const claimName = volume.persistentVolumeClaim?.claimName;
    if (claimName !== undefined && madeClaims.has(claimName)) {
      errors.invalid(
        `${field}.persistentVolumeClaim.claimName`,
        claimName,
        'must not be the claim made for an ephemeral volume of this pod',
      );
    }
  }
  return { valid, broken };
}

/** One row per kind of volume. If a volume has two kinds, the later one in this order is the error. */
const volumeRules: Readonly<Record<keyof VolumeSources, VolumeRule>> = {
  emptyDir: validateEmptyDir,
  hostPath: validateHostPath,
  gitRepo: validateGitRepo,
  gcePersistentDisk: legacyVolumeRules.gcePersistentDisk,
  awsElasticBlockStore: legacyVolumeRules.awsElasticBlockStore,
  secret: validateSecret,
  nfs: legacyVolumeRules.nfs,
  iscsi: legacyVolumeRules.iscsi,
  glusterfs: legacyVolumeRules.glusterfs,
  flocker: legacyVolumeRules.flocker,
  persistentVolumeClaim: validateClaim,
  rbd: legacyVolumeRules.rbd,
  cinder: legacyVolumeRules.cinder,
  cephfs: legacyVolumeRules.cephfs,
  quobyte: legacyVolumeRules.quobyte,
  downwardAPI: validateDownwardAPI,
  fc: legacyVolumeRules.fc,
  flexVolume: legacyVolumeRules.flexVolume,
  configMap: validateConfigMap,
  azureFile: legacyVolumeRules.azureFile,
  vsphereVolume: legacyVolumeRules.vsphereVolume,
  photonPersistentDisk: legacyVolumeRules.photonPersistentDisk,
  portworxVolume: legacyVolumeRules.portworxVolume,
  azureDisk: legacyVolumeRules.azureDisk,
  storageos: legacyVolumeRules.storageos,
  projected: validateProjected,
  scaleIO: legacyVolumeRules.scaleIO,
  csi: validateCSI,
  ephemeral: validateEphemeral,
  image: validateImage,
};

/** Path in the API server's error for a second kind, if it differs from the name. */
const secondKindPaths: Partial<Record<keyof VolumeSources, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' };

function validateSource(errors: FieldErrors, field: string, volume: core.Volume, podName: string): void {
  const kinds = Object.keys(volumeRules) as (keyof VolumeSources)[];
  const [first, ...others] = kinds.filter((kind) => volume[kind] !== undefined);
  if (first === undefined) errors.required(field, 'must have a volume type');
  else volumeRules[first](errors, `${field}.${first}`, volume, podName);
  for (const kind of others) {
    errors.forbidden(`${field}.${secondKindPaths[kind] ?? kind}`, 'may not specify more than one volume type');
  }
  const { initiatorName, targetPortal = '' } = volume.iscsi ?? {};
  if (initiatorName !== undefined && `${volume.name}:${targetPortal}`.length > 64) {
    errors.invalid(`${field}.name`, volume.name, 'with iscsi.targetPortal must be at most 64 characters');
  }
}

function validateEmptyDir(errors: FieldErrors, field: string, { emptyDir }: core.Volume): void {
  if (toQuantity(emptyDir?.sizeLimit).nanos < 0n) errors.forbidden(`${field}.sizeLimit`, 'must not be negative');
}

const hostPathTypes = [
  '',
  'DirectoryOrCreate',
  'Directory',
  'FileOrCreate',
  'File',
  'Socket',
  'CharDevice',
  'BlockDevice',
];

function validateHostPath(errors: FieldErrors, field: string, { hostPath }: core.Volume): void {
  if (!hostPath?.path) {
    errors.required(`${field}.path`);
    return;
  }
  validateNoBacksteps(errors, `${field}.path`, hostPath.path);
  errors.unsupportedUnless(`${field}.type`, hostPath.type ?? '', hostPathTypes);
}

function validateGitRepo(errors: FieldErrors, field: string, { gitRepo }: core.Volume): void {
  if (!gitRepo?.repository) errors.required(`${field}.repository`);
  validateDescendingPath(errors, `${field}.directory`, gitRepo?.directory ?? '');
}

function validateSecret(errors: FieldErrors, field: string, { secret }: core.Volume): void {
  if (!secret?.secretName) errors.required(`${field}.secretName`);
  validateFileMode(errors, `${field}.defaultMode`, secret?.defaultMode);
  validateKeysToPaths(errors, `${field}.items`, secret?.items ?? []);
}

function validateConfigMap(errors: FieldErrors, field: string, { configMap }: core.Volume): void {
  if (!configMap?.name) errors.required(`${field}.name`);
  validateFileMode(errors, `${field}.defaultMode`, configMap?.defaultMode);
  validateKeysToPaths(errors, `${field}.items`, configMap?.items ?? []);
}

function validateClaim(errors: FieldErrors, field: string, { persistentVolumeClaim }: core.Volume): void {
  if (!persistentVolumeClaim?.claimName) errors.required(`${field}.claimName`);
}

function validateDownwardAPI(errors: FieldErrors, field: string, { downwardAPI }: core.Volume): void {
  validateFileMode(errors, `${field}.defaultMode`, downwardAPI?.defaultMode);
  for (const file of downwardAPI?.items ?? []) validateDownwardFile(errors, field, file);
}

function validateProjected(errors: FieldErrors, field: string, { projected }: core.Volume): void {
  if (projected) validateProjectedVolume(errors, field, projected);
}

function validateCSI(errors: FieldErrors, field: string, { csi }: core.Volume): void {
  validateDriverName(errors, `${field}.driver`, csi?.driver ?? '');
  const secret = csi?.nodePublishSecretRef;
  if (!secret) return;
  if (!secret.name) errors.required(`${field}.nodePublishSecretRef.name`);
  else errors.invalidIf(`${field}.name`, secret.name, checkDNS1123Subdomain(secret.name));
}

function validateEphemeral(
  errors: FieldErrors,
  field: string,
  { ephemeral, name }: core.Volume,
  podName: string,
): void {
  const template = ephemeral?.volumeClaimTemplate;
  if (template) validateClaimTemplate(errors, `${field}.volumeClaimTemplate`, template);
  else errors.required(`${field}.volumeClaimTemplate`);
  if (podName !== '' && name !== '') {
    const volumeField = field.slice(0, field.lastIndexOf('.'));
    errors.invalidIf(`${volumeField}.name`, name, checkDNS1123Subdomain(`${podName}-${name}`));
  }
}

function validateImage(errors: FieldErrors, field: string, { image }: core.Volume): void {
  errors.requiredOneOf(`${field}.pullPolicy`, image?.pullPolicy, ['Always', 'IfNotPresent', 'Never']);
}
