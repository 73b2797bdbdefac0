import { quantityValue, toQuantity } from '../../api/values/quantity.ts';
import { podLimits } from '../../api/values/resource-totals.ts';
import type { Pod } from '../../api/types.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { PodUsage } from './node-summary.ts';

/**
 * True if the pod exceeds a limit on disk: of an emptyDir, of its ephemeral storage, or of one container. kubelet:
 * eviction/eviction_manager.go localStorageEviction
 */
export function exceedsStorageLimits(pod: Pod, usage: PodUsage, layout: DiskLayout): boolean {
  return exceedsEmptyDir(pod, usage) || exceedsPodLimit(pod, usage) || exceedsContainerLimit(pod, usage, layout);
}

function exceedsEmptyDir({ spec }: Pod, { volume = [] }: PodUsage): boolean {
  return (spec.volumes ?? []).some(({ name, emptyDir }) => {
    const limit = quantityValue(toQuantity(emptyDir?.sizeLimit));
    const used = volume.find((stats) => stats.name === name)?.usedBytes ?? 0;
    return limit > 0n && BigInt(used) > limit;
  });
}

function exceedsPodLimit(pod: Pod, usage: PodUsage): boolean {
  const limit = podLimits(pod).get('ephemeral-storage');
  return limit !== undefined && BigInt(usage['ephemeral-storage']?.usedBytes ?? 0) > quantityValue(limit);
}

/** The writable layer counts only if it is on the node's disk. */
function exceedsContainerLimit({ spec }: Pod, { containers }: PodUsage, { dedicatedImageFs }: DiskLayout): boolean {
  return spec.containers.some(({ name, resources }) => {
    const limit = quantityValue(toQuantity(resources?.limits?.['ephemeral-storage']));
    const { logs, rootfs } = containers.find((stats) => stats.name === name) ?? {};
    const used = (logs?.usedBytes ?? 0) + (dedicatedImageFs ? 0 : (rootfs?.usedBytes ?? 0));
    return limit > 0n && BigInt(used) > limit;
  });
}
