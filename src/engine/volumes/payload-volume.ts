import { join, posix } from 'node:path';
import { hasPayload, writePayload } from './atomic-writer.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { setVolumeOwnership } from './ownership.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';
import { volumePayload } from './volume-payload.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { Container, Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { UserError } from '../../errors.ts';

const withoutEndingSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

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

/**
 * Folders that the volume needs, relative to it, because a container mounts other volumes there. Runtimes cannot make
 * them in a read-only mount. kubelet: pkg/volume/util/nested_volumes.go getNestedMountpoints
 */
export function nestedMountPoints({ spec }: Pod, volumeName: string): string[] {
  const containers = initAndRegularContainers(spec);
  return [...new Set(containers.flatMap((container) => nestedInContainer(container, volumeName)))];
}

function nestedInContainer({ volumeMounts = [] }: Container, volumeName: string): string[] {
  const all = volumeMounts.map(({ mountPath }) => withoutEndingSlash(posix.normalize(mountPath)));
  const own = volumeMounts.flatMap(({ name }, index) => (name === volumeName ? (all[index] ?? []) : []));
  return own.flatMap((mountPoint) => {
    if (mountPoint.startsWith('../')) throw new UserError(`invalid container mount point ${mountPoint}`);
    const nested = all.filter((path) => path.startsWith(`${mountPoint}/`));
    // A mount below another nested mount has its folder in that one.
    return nested
      .filter((path) => !nested.some((other) => path.startsWith(`${other}/`)))
      .map((path) => path.slice(mountPoint.length + 1));
  });
}
