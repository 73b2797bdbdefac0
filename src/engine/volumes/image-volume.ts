import { UserError } from '../../errors.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';

/** The runtime mounts the image after it was pulled. kubelet: pkg/volume/image */
export function imageVolume(_source: unknown, { imageVolumes }: VolumeRequest): VolumeMounter {
  return {
    mount: { hostPath: '', readOnly: true, managed: false },
    setUp: () =>
      imageVolumes ? Promise.resolve() : Promise.reject(new UserError('image: the feature gate ImageVolume is off')),
  };
}
