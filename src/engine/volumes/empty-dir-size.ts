import { quantityValue, toQuantity } from '../../api/values/quantity.ts';
import { podRequests } from '../../api/values/resource-totals.ts';
import type { Pod } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { hugePageLimits } from '../container-manager/huge-pages.ts';
import { podCgroupLimits } from '../container-manager/pod-cgroup-limits.ts';

/**
 * Bytes a memory-backed volume may hold: the least of what pods may use in all, what this pod may use and what the volume
 * says. Undefined leaves it to the kernel, which gives half of the memory.
 * kubelet: pkg/volume/emptydir/empty_dir.go calculateEmptyDirMemorySize
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
 * Bytes of a page of an emptyDir of huge pages: the size in its medium, which the pod has to ask for, or the only one the
 * pod asks for. kubelet: pkg/volume/emptydir/empty_dir.go getPageSizeMountOption
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
