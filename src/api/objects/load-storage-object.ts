import type {
  PersistentVolume as RawVolume,
  PersistentVolumeClaim as RawClaim,
  PersistentVolumeClaimSpec,
} from 'kubernetes-types/core/v1.js';
import type { CSIDriver as RawDriver } from 'kubernetes-types/storage/v1.js';
import { validateClaim, validateCSIDriver, validateVolume } from '../validation/validate-storage-object.ts';
import type { Loaders } from './loaders.ts';
import type { CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageObject } from '../values/persistent-volume.ts';

/** All casts are safe: the decoder's schema is generated from these declarations. */
export const storageLoaders: Loaders<StorageObject> = {
  PersistentVolumeClaim: (value, errors) => {
    const raw = value as unknown as RawClaim;
    const { name = '', namespace = 'default' } = raw.metadata ?? {};
    validateClaim(errors, { ...raw.metadata, name, namespace }, raw);
    return toClaim({ name, namespace }, raw.spec ?? {});
  },
  PersistentVolume: (value, errors, warnings) => {
    const raw = value as unknown as RawVolume;
    validateVolume(errors, raw.metadata, raw.spec ?? {});
    const { persistentVolumeReclaimPolicy: policy = 'Retain' } = raw.spec ?? {};
    if (policy !== 'Retain') {
      const message = `${policy} has no effect: the data of a declared volume always stay`;
      warnings.push({ field: 'spec.persistentVolumeReclaimPolicy', message, severity: 'note' });
    }
    return toVolume(raw);
  },
  CSIDriver: (value, errors) => {
    const raw = value as unknown as RawDriver;
    const driver = { ...raw, spec: (raw.spec as RawDriver['spec'] | undefined) ?? {} };
    validateCSIDriver(errors, driver);
    return toDriver(driver);
  },
};

/** The claim of a valid spec. */
export function toClaim(
  { name, namespace }: { name: string; namespace: string },
  { accessModes = [], resources, storageClassName, volumeName = '', selector }: PersistentVolumeClaimSpec,
): PersistentVolumeClaim {
  return {
    kind: 'PersistentVolumeClaim',
    namespace,
    name,
    accessModes,
    storage: resources?.requests?.['storage'] ?? '0',
    ...(storageClassName !== undefined && { storageClassName }),
    ...(volumeName !== '' && { volumeName }),
    ...(selector && { selector }),
  };
}

function toVolume({ metadata = {}, spec = {} }: RawVolume): PersistentVolume {
  const { claimRef, nodeAffinity, csi, hostPath, local, nfs } = spec;
  return {
    kind: 'PersistentVolume',
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
    accessModes: spec.accessModes ?? [],
    storage: spec.capacity?.['storage'] ?? '0',
    storageClassName: spec.storageClassName ?? '',
    ...(claimRef && { claimRef: { namespace: claimRef.namespace ?? 'default', name: claimRef.name ?? '' } }),
    ...(nodeAffinity && { nodeAffinity }),
    mountOptions: spec.mountOptions ?? [],
    source: { ...(csi && { csi }), ...(hostPath && { hostPath }), ...(local && { local }), ...(nfs && { nfs }) },
  };
}

function toDriver({ metadata, spec }: RawDriver): CSIDriver {
  return {
    kind: 'CSIDriver',
    name: metadata?.name ?? '',
    podInfoOnMount: spec.podInfoOnMount ?? false,
    fsGroupPolicy: spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: spec.volumeLifecycleModes ?? ['Persistent'],
    requiresRepublish: spec.requiresRepublish ?? false,
  };
}
