import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label } from '../values/names.ts';

/** Rules for volumes of storage systems. Kubernetes has dropped most of them but still validates their fields. */
export const legacyVolumeRules = {
  gcePersistentDisk: (errors, field, { gcePersistentDisk }) => {
    // The API server's errors use a name other than the field's here.
    const path = field.replace(/gcePersistentDisk$/, 'persistentDisk');
    require(errors, path, gcePersistentDisk, ['pdName']);
    validatePartition(errors, path, gcePersistentDisk?.partition);
  },
  awsElasticBlockStore: (errors, field, { awsElasticBlockStore }) => {
    require(errors, field, awsElasticBlockStore, ['volumeID']);
    validatePartition(errors, field, awsElasticBlockStore?.partition);
  },
  nfs: (errors, field, { nfs }) => {
    require(errors, field, nfs, ['server', 'path']);
    if (!nfs?.path.startsWith('/')) errors.invalid(`${field}.path`, nfs?.path, 'must be an absolute path');
  },
  iscsi: (errors, field, { iscsi }) => {
    require(errors, field, iscsi, ['targetPortal', 'iqn']);
    if (iscsi?.iqn) validateIQN(errors, `${field}.iqn`, iscsi.iqn);
    validateByte(errors, `${field}.lun`, iscsi?.lun);
    const authenticates = iscsi?.chapAuthDiscovery ?? iscsi?.chapAuthSession;
    if (authenticates && !iscsi?.secretRef) errors.required(`${field}.secretRef`);
    if (iscsi?.initiatorName !== undefined) validateIQN(errors, `${field}.initiatorname`, iscsi.initiatorName);
  },
  glusterfs: (errors, field, { glusterfs }) => {
    require(errors, field, glusterfs, ['endpoints', 'path']);
  },
  flocker: (errors, field, { flocker }) => {
    const { datasetName = '', datasetUUID = '' } = flocker ?? {};
    if (datasetName === '' && datasetUUID === '') errors.required(field, 'needs datasetName or datasetUUID');
    if (datasetName !== '' && datasetUUID !== '')
      errors.invalid(field, 'datasetName', 'cannot be set with datasetUUID');
    if (datasetName.includes('/')) errors.invalid(`${field}.datasetName`, datasetName, 'must not contain "/"');
  },
  rbd: (errors, field, { rbd }) => {
    if (!rbd?.monitors.length) errors.required(`${field}.monitors`);
    require(errors, field, rbd, ['image']);
  },
  cinder: (errors, field, { cinder }) => {
    require(errors, field, cinder, ['volumeID']);
    validateSecretRef(errors, field, cinder?.secretRef);
  },
  cephfs: (errors, field, { cephfs }) => {
    if (!cephfs?.monitors.length) errors.required(`${field}.monitors`);
  },
  quobyte: (errors, field, { quobyte }) => {
    const registry = quobyte?.registry ?? '';
    if (registry === '') {
      errors.required(`${field}.registry`, 'must be host:port, or several of them with commas between');
    } else if ((quobyte?.tenant ?? '').length > 64) {
      errors.required(`${field}.tenant`, 'must be a UUID of at most 64 characters');
    } else if (!registry.split(',').every((pair) => /^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair))) {
      errors.invalid(`${field}.registry`, registry, 'must be host:port, or several of them with commas between');
    }
    require(errors, field, quobyte, ['volume']);
  },
  fc: (errors, field, { fc }) => {
    const targets = fc?.targetWWNs?.length ?? 0;
    const wwids = fc?.wwids?.length ?? 0;
    if (targets === 0 && wwids === 0) errors.required(`${field}.targetWWNs`, 'needs targetWWNs or wwids');
    if (targets > 0 && wwids > 0) errors.invalid(`${field}.targetWWNs`, fc?.targetWWNs, 'cannot be set with wwids');
    if (targets === 0) return;
    if (fc?.lun === undefined) errors.required(`${field}.lun`, 'must be set with targetWWNs');
    else validateByte(errors, `${field}.lun`, fc.lun);
  },
  flexVolume: (errors, field, { flexVolume }) => {
    require(errors, field, flexVolume, ['driver']);
    for (const key of Object.keys(flexVolume?.options ?? {})) {
      const namespace = `.${key.split('/')[0]?.toLowerCase() ?? ''}`;
      if (namespace.endsWith('.kubernetes.io') || namespace.endsWith('.k8s.io')) {
        errors.invalid(`${field}.options[${key}]`, key, 'kubernetes.io and k8s.io are reserved');
      }
    }
  },
  azureFile: (errors, field, { azureFile }) => {
    require(errors, field, azureFile, ['secretName', 'shareName']);
  },
  vsphereVolume: (errors, field, { vsphereVolume }) => {
    require(errors, field, vsphereVolume, ['volumePath']);
  },
  photonPersistentDisk: (errors, field, { photonPersistentDisk }) => {
    require(errors, field, photonPersistentDisk, ['pdID']);
  },
  portworxVolume: (errors, field, { portworxVolume }) => {
    require(errors, field, portworxVolume, ['volumeID']);
  },
  azureDisk: (errors, field, { azureDisk }) => {
    require(errors, field, azureDisk, ['diskName', 'diskURI']);
    const { cachingMode = 'None', diskURI = '', kind = 'Shared' } = azureDisk ?? {};
    errors.unsupportedUnless(`${field}.cachingMode`, cachingMode, ['None', 'ReadOnly', 'ReadWrite']);
    errors.unsupportedUnless(`${field}.kind`, kind, ['Dedicated', 'Managed', 'Shared']);
    const prefix = kind === 'Managed' ? '/subscriptions/' : 'https://';
    if (!diskURI.startsWith(prefix)) errors.unsupportedUnless(`${field}.diskURI`, diskURI, [`${prefix}…`]);
  },
  storageos: (errors, field, { storageos }) => {
    require(errors, field, storageos, ['volumeName']);
    for (const name of ['volumeName', 'volumeNamespace'] as const) {
      const value = storageos?.[name];
      if (value) errors.invalidIf(`${field}.${name}`, value, checkDNS1123Label(value));
    }
    validateSecretRef(errors, field, storageos?.secretRef);
  },
  scaleIO: (errors, field, { scaleIO }) => {
    require(errors, field, scaleIO, ['gateway', 'system', 'volumeName']);
  },
} satisfies Record<string, VolumeRule>;

/** Texts that must not be empty. */
function require<T extends object>(
  errors: FieldErrors,
  field: string,
  source: T | undefined,
  names: (keyof T & string)[],
) {
  for (const name of names) {
    if (!source?.[name]) errors.required(`${field}.${name}`);
  }
}

function validatePartition(errors: FieldErrors, field: string, partition: number | undefined): void {
  validateByte(errors, `${field}.partition`, partition);
}

function validateByte(errors: FieldErrors, field: string, value: number | undefined): void {
  if (value !== undefined && (value < 0 || value > 255)) errors.invalid(field, value, 'must be between 0 and 255');
}

function validateSecretRef(errors: FieldErrors, field: string, ref: core.LocalObjectReference | undefined): void {
  if (ref && !ref.name) errors.required(`${field}.secretRef.name`);
}

function validateIQN(errors: FieldErrors, field: string, name: string): void {
  const isValid =
    (name.startsWith('iqn') && hasIQN(name)) ||
    /^eui.[a-zA-Z0-9]{16}$/.test(name) ||
    /^naa.[a-zA-Z0-9]{32}$/.test(name);
  if (!isValid) errors.invalid(field, name, 'must be a name that starts with iqn, eui or naa');
}

/**
 * True if the name ends in a valid part that starts with `iqn`. Checks each part once, because the name can have any
 * length.
 */
function hasIQN(name: string): boolean {
  const unbroken = name.split(/[,;*&$|\s]/).at(-1) ?? '';
  return /(?<=iqn\.\d{4}-\d{2}\.[a-zA-Z0-9\-.]+):./s.test(unbroken);
}

/** Checks one kind of volume. `volume` is the whole volume because some rules need its name. */
export type VolumeRule = (errors: FieldErrors, field: string, volume: core.Volume, podName: string) => void;
