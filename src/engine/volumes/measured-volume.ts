import type { Pod, Volume } from '../../api/types.ts';
import { type ByKind, byKind } from '../../api/values/by-kind.ts';
import type { ClaimName, PersistentVolume, PersistentVolumeSource } from '../../api/values/persistent-volume.ts';
import type { VolumeClaims } from '../persistent-volumes/volume-claims.ts';
import type { MountedVolume } from './volume-mounter.ts';

/** A volume whose usage is measured separately. */
export interface MeasuredVolume {
  /** Name in the pod. */
  name: string;
  /** Name of its folder: the PersistentVolume's name if there is one, otherwise the volume's. */
  specName: string;
  path: string;
  /** How usage is measured: count the `files`, read the whole file system (`disk`), or ask the CSI `driver`. */
  method: 'files' | 'disk' | 'driver';
  /** Name of the CSI driver. Empty without one. */
  driver: string;
  /** The claim that the pod references, or its generic ephemeral claim. */
  pvcRef?: ClaimName;
}

interface Request {
  pod: Pod;
  claims: Pick<VolumeClaims, 'boundClaim'>;
  mount: MountedVolume;
}

/**
 * Decides how the usage of a volume is measured. Returns undefined for hostPath, images and NFS. kubelet: the metrics
 * providers of pkg/volume
 */
export function measuredVolume(volume: Volume, { pod, claims, mount }: Request): MeasuredVolume | undefined {
  const { name, persistentVolumeClaim, ephemeral, csi } = volume;
  const { namespace } = pod.metadata;
  const measured: MeasuredVolume = { name, specName: name, path: mount.hostPath, method: 'files', driver: '' };
  if (csi !== undefined) return { ...measured, method: 'driver', driver: csi.driver };
  if (persistentVolumeClaim !== undefined) {
    const pvcRef = { name: persistentVolumeClaim.claimName, namespace };
    const bound = claims.boundClaim(pvcRef).volume;
    const how = bound === undefined ? {} : byKind(bound.source, persistentKinds, bound);
    return how && { ...measured, ...how, pvcRef };
  }
  if (!mount.managed || mount.hostPath === '') return undefined;
  // kubelet: component-helpers/storage/ephemeral VolumeClaimName
  return ephemeral === undefined
    ? measured
    : { ...measured, pvcRef: { name: `${pod.metadata.name}-${name}`, namespace } };
}

type Measurement = Partial<MeasuredVolume> | undefined;

/** One row per kind of PersistentVolume. */
const persistentKinds: ByKind<PersistentVolumeSource, [PersistentVolume], Measurement> = {
  csi: ({ driver }, { name }) => ({ method: 'driver', driver, specName: name }),
  local: () => ({ method: 'disk' }),
  hostPath: () => undefined,
  // A call to a dead server would block a thread.
  nfs: () => undefined,
};
