import { type ByKind, byKind, type VolumeSources } from '../../api/values/by-kind.ts';
import { type UnmountableVolume, unmountableVolumes } from '../../api/values/unmountable-volumes.ts';
import { UserError } from '../../errors.ts';
import { claimVolume } from './claim-volume.ts';
import { csiVolume } from './csi-volume.ts';
import { emptyDirVolume } from './empty-dir.ts';
import { ephemeralVolume } from './ephemeral-volume.ts';
import { hostPathVolume } from './host-path.ts';
import { nfsVolume } from './nfs-volume.ts';
import { contentVolume } from './content-volume.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';

/** One row per kind of volume. Every kind of the Pod API is listed here or in `unmountableVolumes`. */
const volumeKinds: ByKind<Omit<VolumeSources, UnmountableVolume>, [VolumeRequest], VolumeMounter> = {
  configMap: contentVolume('kubernetes.io~configmap', ''),
  csi: csiVolume,
  downwardAPI: contentVolume('kubernetes.io~downward-api', 'Memory'),
  emptyDir: emptyDirVolume,
  ephemeral: ephemeralVolume,
  hostPath: hostPathVolume,
  image: imageVolume,
  nfs: nfsVolume,
  persistentVolumeClaim: claimVolume,
  projected: contentVolume('kubernetes.io~projected', 'Memory'),
  secret: contentVolume('kubernetes.io~secret', 'Memory'),
};

/** Throws a `UserError` if a node without an API server cannot mount this kind. */
export function volumeMounter(request: VolumeRequest): VolumeMounter {
  const mounter = byKind(request.volume, volumeKinds, request);
  if (mounter !== undefined) return mounter;
  const kind = Object.keys(request.volume).find((key) => key !== 'name') ?? 'unknown';
  const reasons: Readonly<Record<string, string>> = unmountableVolumes;
  throw new UserError(`${kind}: ${reasons[kind] ?? 'unknown kind of volume'}`, {
    hint:
      'Use emptyDir, hostPath, configMap, secret, projected, downwardAPI, persistentVolumeClaim, ephemeral, csi, nfs ' +
      'or image.',
  });
}

/** The agent pulls the image; the runtime mounts it. kubelet: pkg/volume/image */
function imageVolume(): VolumeMounter {
  return { mount: { hostPath: '', readOnly: true, managed: false }, setUp: () => Promise.resolve() };
}
