import type { Volume } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { targetPath } from '../csi/csi-files.ts';
import { ephemeralSpec } from '../csi/csi-volume-spec.ts';
import type { CSIVolumes } from '../csi/csi-volumes.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';

/** A volume of a CSI driver that lives as long as its pod. */
export function csiVolume(source: NonNullable<Volume['csi']>, request: VolumeRequest): VolumeMounter {
  const { pod, podDir, volume, csi, signal } = request;
  const spec = ephemeralSpec(pod, volume.name, source);
  return {
    mount: { hostPath: targetPath(podDir, volume.name), readOnly: spec.readOnly, managed: true, persistent: true },
    setUp: () => csiVolumes(csi).setUp(spec, signal),
    hasContent: () => csiVolumes(csi).isReady(podDir, spec),
  };
}

/** Throws a `UserError` if the node has no plugins. */
export function csiVolumes(csi: CSIVolumes | undefined): CSIVolumes {
  if (csi === undefined) throw new UserError('csi: this node has no plugins');
  return csi;
}
