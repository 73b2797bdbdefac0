import { join, posix } from 'node:path';
import { hasCompleteContent, writeContent } from './atomic-writer.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { setVolumeOwnership } from './ownership.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';
import { volumeContent } from './projected-content.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { Container, Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { UserError } from '../../errors.ts';

const withoutEndingSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

/**
 * Returns the mounter of a kind of volume that consists of files. `plugin` is its folder, `medium` the medium of its
 * emptyDir. The old content stays until a set-up is complete.
 */
export function contentVolume(plugin: string, medium: '' | 'Memory') {
  return (_source: unknown, request: VolumeRequest): VolumeMounter => {
    const path = join(request.podDir, 'volumes', plugin, request.volume.name);
    return {
      mount: { hostPath: path, readOnly: true, managed: true },
      setUp: () => setUpContentVolume(request, path, medium),
      hasContent: () => hasCompleteContent(path),
    };
  };
}

/**
 * Creates or updates a volume that consists of files. The old content stays until the new content is complete. Secrets
 * are kept only in memory. kubelet: pkg/volume/configmap SetUpAt, and those of secret, projected and downwardapi
 */
async function setUpContentVolume(request: VolumeRequest, path: string, medium: string): Promise<void> {
  const { pod, podDir, volume, allocatable, now, logger } = request;
  const content = volumeContent(pod, volume, request);
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
  await writeContent(path, content, {
    now: now(),
    setPermissions: () => setVolumeOwnership(path, { fsGroup, readOnly: true, logger }),
  });
}

/**
 * Folders, relative to the volume, where a container mounts other volumes. They must exist because runtimes cannot
 * create them in a read-only mount. kubelet: pkg/volume/util/nested_volumes.go getNestedMountpoints
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
    // The folder of a deeper mount is inside the nested mount above it.
    return nested
      .filter((path) => !nested.some((other) => path.startsWith(`${other}/`)))
      .map((path) => path.slice(mountPoint.length + 1));
  });
}
