import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pod, Volume } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { writeInPlace } from '../../files/regular-file.ts';
import { pathExists } from '../../files/path-exists.ts';
import { isMountPoint, mountHugePages, mountTmpfs } from '../host/mounts.ts';
import { setVolumeOwnership } from './ownership.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { quantityValue, toQuantity } from '../../api/values/quantity.ts';
import { podRequests } from '../../api/values/resource-totals.ts';
import { hugePageLimits } from '../container-manager/huge-pages.ts';
import { podCgroupLimits } from '../container-manager/pod-cgroup-limits.ts';

const bytesOf = (quantity: string | undefined): bigint => quantityValue(toQuantity(quantity));

interface EmptyDirRequest {
  pod: Pod;
  podDir: string;
  /** Name of the volume, prefixed with `wrapped_` if another kind of volume is stored in this emptyDir. */
  name: string;
  /** Path of the volume on the host. */
  path: string;
  source: NonNullable<Volume['emptyDir']>;
  /** Memory that all pods together may use. */
  allocatableMemory: string | undefined;
  logger: Pick<Logger, 'warn'> | undefined;
}

/** Path of a pod's emptyDir on the host. */
export function emptyDirPath(podDir: string, name: string): string {
  return join(podDir, 'volumes', 'kubernetes.io~empty-dir', name);
}

export function emptyDirVolume(
  source: EmptyDirRequest['source'],
  { pod, podDir, volume: { name }, allocatable, logger }: VolumeRequest,
): VolumeMounter {
  const path = emptyDirPath(podDir, name);
  return {
    mount: { hostPath: path, readOnly: false, managed: true },
    setUp: () => setUpEmptyDir({ pod, podDir, name, path, source, allocatableMemory: allocatable['memory'], logger }),
  };
}

/**
 * Creates an emptyDir on disk, in memory or in huge pages. An existing one keeps its content. A marker in the pod's
 * `plugins` folder shows that it is complete. kubelet: pkg/volume/emptydir/empty_dir.go SetUpAt
 */
export async function setUpEmptyDir(request: EmptyDirRequest): Promise<void> {
  const { pod, podDir, name, path, source, logger } = request;
  const { medium = '' } = source;
  const marker = join(podDir, 'plugins', 'kubernetes.io~empty-dir', name, 'ready');
  // After a reboot the marker remains without the mount.
  if ((await pathExists(marker)) && (await (medium === '' ? pathExists(path) : isMountPoint(path)))) return;
  const mount = mountOf(request);
  await makeFolder(path, 0o750);
  // The umask limits mkdir, but not chmod.
  await chmod(path, 0o777);
  await mount();
  await setVolumeOwnership(path, { fsGroup: pod.spec.securityContext?.fsGroup, readOnly: false, logger });
  await makeFolder(dirname(marker), 0o750);
  await writeInPlace(marker, '', 0o600);
}

/** Returns a function that mounts the medium on the folder. Throws a `UserError` if the medium is unknown. */
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

/**
 * Size limit in bytes of a memory-backed volume: the smallest of the node's allocatable memory, the pod's limit and the
 * volume's limit. Returns undefined for the kernel's default, half of the memory. kubelet:
 * pkg/volume/emptydir/empty_dir.go calculateEmptyDirMemorySize
 */
export function memoryVolumeBytes(
  pod: Pod,
  sizeLimit: string | undefined,
  allocatableMemory: string | undefined,
): bigint | undefined {
  const { memoryBytes = 0n } = podCgroupLimits(pod, { enforceCPULimits: false });
  return [bytesOf(allocatableMemory), memoryBytes, bytesOf(sizeLimit)]
    .filter((bytes) => bytes > 0n)
    .reduce<bigint | undefined>((least, bytes) => (least === undefined || bytes < least ? bytes : least), undefined);
}

/**
 * Page size in bytes of an emptyDir of huge pages: the size in its medium, which the pod must request, or the only size
 * that the pod requests. kubelet: pkg/volume/emptydir/empty_dir.go getPageSizeMountOption
 */
export function hugePageVolumePageBytes(pod: Pod, medium: string): bigint {
  const wanted = medium === 'HugePages' ? undefined : bytesOf(medium.slice('HugePages-'.length));
  const requested = [...hugePageLimits(podRequests(pod)).keys()];
  const [bytes, ...others] = requested.filter((other) => wanted === undefined || other === wanted);
  if (others.length > 0) {
    throw new UserError(`medium: ${medium} can't be used if container requests multiple huge page sizes`, {
      hint: 'Name the size in the medium, as in HugePages-2Mi.',
    });
  }
  if (bytes === undefined) {
    throw new UserError(
      `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
    );
  }
  return bytes;
}
