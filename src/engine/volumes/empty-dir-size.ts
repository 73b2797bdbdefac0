import { quantityValue, toQuantity } from '../../api/values/quantity.ts';
import { podRequests } from '../../api/values/resource-totals.ts';
import type { Pod } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { hugePageLimits } from '../container-manager/huge-pages.ts';
import { podCgroupLimits } from '../container-manager/pod-cgroup-limits.ts';

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

const bytesOf = (quantity: string | undefined): bigint => quantityValue(toQuantity(quantity));
