import { createHash } from 'node:crypto';
import type { CSIPersistentVolumeSource } from 'kubernetes-types/core/v1.js';
import type { Pod, Volume } from '../../api/types.ts';
import type { ClaimName, PersistentVolume } from '../../api/values/persistent-volume.ts';

/** A volume of a CSI driver, as one pod mounts it. */
export interface CSIVolumeSpec {
  pod: Pod;
  /** Name of the pod's volume, or of the PersistentVolume. */
  specName: string;
  driver: string;
  volumeHandle: string;
  lifecycle: 'Ephemeral' | 'Persistent';
  readOnly: boolean;
  fsType: string;
  attributes: Readonly<Record<string, string>>;
  accessModes: readonly string[];
  mountOptions: readonly string[];
  publishSecret: ClaimName | undefined;
  stageSecret: ClaimName | undefined;
}

/** Returns the handle of a volume that lives as long as its pod. kubelet: csi_plugin.go makeVolumeHandle */
export const ephemeralHandle = (podUID: string, name: string): string =>
  `csi-${createHash('sha256').update(`${podUID}${name}`).digest('hex')}`;

/** Returns the spec of a volume that lives as long as its pod. kubelet: csi_mounter.go SetUpAt */
export function ephemeralSpec(pod: Pod, name: string, source: NonNullable<Volume['csi']>): CSIVolumeSpec {
  const { driver, fsType = '', readOnly = false, volumeAttributes = {}, nodePublishSecretRef } = source;
  const { uid, namespace } = pod.metadata;
  const secret = nodePublishSecretRef?.name;
  return {
    pod,
    specName: name,
    driver,
    volumeHandle: ephemeralHandle(uid, name),
    lifecycle: 'Ephemeral',
    readOnly,
    fsType,
    attributes: volumeAttributes,
    accessModes: ['ReadWriteOnce'],
    mountOptions: [],
    publishSecret: secret === undefined ? undefined : { namespace, name: secret },
    stageSecret: undefined,
  };
}

/** Returns the spec of a declared volume. `readOnly` comes from the pod's mount of the claim. */
export function persistentSpec(
  pod: Pod,
  { name, accessModes, mountOptions }: PersistentVolume,
  source: CSIPersistentVolumeSource,
  readOnly: boolean,
): CSIVolumeSpec {
  return {
    pod,
    specName: name,
    driver: source.driver,
    volumeHandle: source.volumeHandle,
    lifecycle: 'Persistent',
    readOnly: readOnly || source.readOnly === true,
    fsType: source.fsType ?? '',
    attributes: source.volumeAttributes ?? {},
    accessModes,
    mountOptions,
    publishSecret: secretName(source.nodePublishSecretRef),
    stageSecret: secretName(source.nodeStageSecretRef),
  };
}

function secretName(reference: CSIPersistentVolumeSource['nodePublishSecretRef']): ClaimName | undefined {
  return reference && { namespace: reference.namespace ?? 'default', name: reference.name ?? '' };
}
