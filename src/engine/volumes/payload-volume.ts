import { join } from 'node:path';
import { hasPayload, writePayload } from './atomic-writer.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { nestedMountPoints } from './nested-mount-points.ts';
import { setVolumeOwnership } from './ownership.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';
import { volumePayload } from './volume-payload.ts';
import { makeFolder } from '../../files/make-folder.ts';

/**
 * A kind of volume made of files. `plugin` is its folder, `medium` that of its emptyDir. Its old content stays until a
 * set-up is complete.
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
 * Makes or updates a volume of files. Its old content stays until the new is complete. Secrets are only in memory.
 * kubelet: pkg/volume/configmap SetUpAt, and those of secret, projected and downwardapi
 */
async function setUpPayloadVolume(request: VolumeRequest, path: string, medium: string): Promise<void> {
  const { pod, podDir, volume, allocatable, now, logger } = request;
  const payload = volumePayload(pod, volume, request);
  await setUpEmptyDir({
    pod,
    podDir,
    name: `wrapped_${volume.name}`,
    path,
    source: { medium },
    allocatableMemory: allocatable['memory'],
    logger,
  });
  for (const folder of nestedMountPoints(pod, volume.name)) {
    await makeFolder(join(path, folder), 0o755);
  }
  const { fsGroup } = pod.spec.securityContext ?? {};
  await writePayload(path, payload, {
    now: now(),
    setPermissions: () => setVolumeOwnership(path, { fsGroup, readOnly: true, logger }),
  });
}
