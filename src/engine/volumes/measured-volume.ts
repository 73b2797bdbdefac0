import type { Pod, Volume } from '../../api/types.ts';
import { type ByKind, byKind } from '../../api/values/by-kind.ts';
import type { ClaimName, PersistentVolume, PersistentVolumeSource } from '../../api/values/persistent-volume.ts';
import type { VolumeClaims } from '../persistent-volumes/volume-claims.ts';
import type { MountedVolume } from './volume-mounter.ts';

/** A volume with usage of its own. */
export interface MeasuredVolume {
  /** In the pod. */
  name: string;
  /** Name of its folder: that of the PersistentVolume, or else of the volume. */
  specName: string;
  path: string;
  /** `files` are counted, `disk` is the whole file system, and a `driver` is asked. */
  by: 'files' | 'disk' | 'driver';
  /** Name of the CSI driver. Empty without one. */
  driver: string;
  /** The claim that the pod names or brings. */
  pvcRef?: ClaimName;
}

interface Request {
  pod: Pod;
  claims: Pick<VolumeClaims, 'boundClaim'>;
  mount: MountedVolume;
}

/**
 * How the usage of a volume is measured. Returns undefined for hostPath, images and NFS. kubelet: the metrics providers
 * of pkg/volume
 */
export function measuredVolume(volume: Volume, { pod, claims, mount }: Request): MeasuredVolume | undefined {
  const { name, persistentVolumeClaim, ephemeral, csi } = volume;
  const { namespace } = pod.metadata;
  const measured: MeasuredVolume = { name, specName: name, path: mount.hostPath, by: 'files', driver: '' };
  if (csi !== undefined) return { ...measured, by: 'driver', driver: csi.driver };
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

type How = Partial<MeasuredVolume> | undefined;

/** One row a kind of PersistentVolume. */
const persistentKinds: ByKind<PersistentVolumeSource, [PersistentVolume], How> = {
  csi: ({ driver }, { name }) => ({ by: 'driver', driver, specName: name }),
  local: () => ({ by: 'disk' }),
  hostPath: () => undefined,
  // A call to a dead server would hold a thread.
  nfs: () => undefined,
};
