import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { writeInPlace } from '../host/regular-file.ts';
import { pathExists } from '../host/path-exists.ts';
import { hugePageVolumePageBytes, memoryVolumeBytes } from './empty-dir-size.ts';
import { isMountPoint, mountHugePages, mountTmpfs } from '../host/mounts.ts';
import { setVolumeOwnership } from './ownership.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';
import { makeFolder } from '../../make-folder.ts';

interface EmptyDirRequest {
  pod: Pod;
  podDir: string;
  /** Name of the volume; one that another kind of volume is made on begins with `wrapped_`. */
  name: string;
  /** Where it is to be. */
  path: string;
  source: NonNullable<Volume['emptyDir']>;
  /** Memory that pods may use in all. */
  allocatableMemory: string | undefined;
}

/** Where an emptyDir of a pod is once it is set up. */
export function emptyDirPath(podDir: string, name: string): string {
  return join(podDir, 'volumes', 'kubernetes.io~empty-dir', name);
}

export function emptyDirVolume(
  source: EmptyDirRequest['source'],
  { pod, podDir, volume: { name }, allocatable }: VolumeRequest,
): VolumeMounter {
  const path = emptyDirPath(podDir, name);
  return {
    mount: { hostPath: path, readOnly: false, managed: true },
    setUp: () => setUpEmptyDir({ pod, podDir, name, path, source, allocatableMemory: allocatable['memory'] }),
  };
}

/**
 * Makes an emptyDir of a pod, on disk, in memory or of huge pages. One that was made before stays as the containers left
 * it; a marker beside it says that it was made to the end. kubelet: pkg/volume/emptydir/empty_dir.go SetUpAt
 */
export async function setUpEmptyDir(request: EmptyDirRequest): Promise<void> {
  const { pod, podDir, name, path, source } = request;
  const { medium = '' } = source;
  const marker = join(podDir, 'plugins', 'kubernetes.io~empty-dir', name, 'ready');
  // What is mounted is gone after a reboot, its marker is not.
  if ((await pathExists(marker)) && (await (medium === '' ? pathExists(path) : isMountPoint(path)))) return;
  const mount = mountOf(request);
  await makeFolder(path, 0o750);
  // mkdir is bound by the umask, chmod is not.
  await chmod(path, 0o777);
  await mount();
  await setVolumeOwnership(path, { fsGroup: pod.spec.securityContext?.fsGroup, readOnly: false });
  await makeFolder(dirname(marker), 0o750);
  await writeInPlace(marker, '', 0o600);
}

/** What is mounted on the folder; throws for a medium that cannot be. */
function mountOf({ pod, path, source, allocatableMemory }: EmptyDirRequest): () => Promise<void> {
  const { medium = '', sizeLimit } = source;
  if (medium === '') return () => Promise.resolve();
  if (medium === 'Memory') {
    const bytes = memoryVolumeBytes(pod, sizeLimit, allocatableMemory);
    return () => mountTmpfs(path, bytes);
  }
  if (/^HugePages(-|$)/.test(medium)) {
    const pageBytes = hugePageVolumePageBytes(pod, medium);
    return () => mountHugePages(path, pageBytes);
  }
  throw new UserError(`unknown storage medium "${medium}"`, {
    hint: 'emptyDir.medium may be empty, Memory, HugePages or HugePages-<size>.',
  });
}
