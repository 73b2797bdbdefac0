import { join } from 'node:path';
import { hasPayload, writePayload } from './atomic-writer.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { nestedMountPoints } from './nested-mount-points.ts';
import { setVolumeOwnership } from './ownership.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';
import { volumePayload } from './volume-payload.ts';
import { makeFolder } from '../../make-folder.ts';

/**
 * A kind of volume that is made of files: `plugin` is its folder, `medium` that of the emptyDir that it is made on.
 * Until a set-up is through, the volume holds what it had.
 */
export function payloadVolume(plugin: string, medium: '' | 'Memory') {
  return (_source: unknown, request: VolumeRequest): VolumeMounter => {
    const path = join(request.podDir, 'volumes', plugin, request.volume.name);
    return {
      mount: { hostPath: path, readOnly: true, managed: true },
      setUp: () => setUpPayloadVolume(request, path, medium),
      hasContent: () => hasPayload(path),
    };
  };
}

/**
 * Makes a volume of files, or brings it up to date; what it held before stays until all of the new is there. Secrets are
 * only ever in memory. kubelet: pkg/volume/configmap SetUpAt, and those of secret, projected and downwardapi alike
 */
async function setUpPayloadVolume(request: VolumeRequest, path: string, medium: string): Promise<void> {
  const { pod, podDir, volume, allocatable, now } = request;
  const payload = volumePayload(pod, volume, request);
  await setUpEmptyDir({
    pod,
    podDir,
    name: `wrapped_${volume.name}`,
    path,
    source: { medium },
    allocatableMemory: allocatable['memory'],
  });
  for (const folder of nestedMountPoints(pod, volume.name)) {
    await makeFolder(join(path, folder), 0o755);
  }
  const { fsGroup } = pod.spec.securityContext ?? {};
  await writePayload(path, payload, {
    now: now(),
    setPermissions: () => setVolumeOwnership(path, { fsGroup, readOnly: true }),
  });
}
