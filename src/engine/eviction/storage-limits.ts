import { formatQuantity, quantityValue, toQuantity } from '../../api/values/quantity.ts';
import { podLimits } from '../../api/values/resource-totals.ts';
import type { Pod, Volume } from '../../api/types.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { PodUsage } from './node-summary.ts';

/** An emptyDir with a size limit. */
interface LimitedEmptyDir {
  name: string;
  /** As written, in canonical form. */
  sizeLimit: string;
  limitBytes: bigint;
}

/** Returns undefined if the volume has no size limit. */
export function limitedEmptyDir({ name, emptyDir }: Volume): LimitedEmptyDir | undefined {
  const quantity = toQuantity(emptyDir?.sizeLimit);
  const limitBytes = quantityValue(quantity);
  return limitBytes > 0n ? { name, sizeLimit: formatQuantity(quantity), limitBytes } : undefined;
}

/** kubelet: eviction/eviction_manager.go signalEmptyDirFsLimit, signalEphemeralPodFsLimit */
export type LimitSignal = 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';

interface ExceededLimit {
  signal: LimitSignal;
  message: string;
}

/**
 * Returns the disk limit that the pod exceeds, as a message: the limit of an emptyDir, of its ephemeral storage, or of
 * one container. Returns undefined if it exceeds none. kubelet: eviction/eviction_manager.go localStorageEviction
 */
export function exceededStorageLimit(pod: Pod, usage: PodUsage, layout: DiskLayout): ExceededLimit | undefined {
  return exceededEmptyDir(pod, usage) ?? exceededPodLimit(pod, usage) ?? exceededContainerLimit(pod, usage, layout);
}

function exceededEmptyDir({ spec }: Pod, { volume = [] }: PodUsage): ExceededLimit | undefined {
  const exceeded = (spec.volumes ?? [])
    .flatMap((one) => limitedEmptyDir(one) ?? [])
    .find(({ name, limitBytes }) => BigInt(volume.find((stats) => stats.name === name)?.usedBytes ?? 0) > limitBytes);
  if (exceeded === undefined) return undefined;
  const { name, sizeLimit } = exceeded;
  return {
    signal: 'emptydirfs.limit',
    message: `Usage of EmptyDir volume "${name}" exceeds the limit "${sizeLimit}". `,
  };
}

function exceededPodLimit(pod: Pod, usage: PodUsage): ExceededLimit | undefined {
  const limit = podLimits(pod).get('ephemeral-storage');
  const used = BigInt(usage['ephemeral-storage']?.usedBytes ?? 0);
  if (limit === undefined || used <= quantityValue(limit)) return undefined;
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `;
  return { signal: 'ephemeralpodfs.limit', message };
}

/** The writable layer counts only if it is on the node's disk. */
function exceededContainerLimit(
  { spec }: Pod,
  { containers }: PodUsage,
  { dedicatedImageFs }: DiskLayout,
): ExceededLimit | undefined {
  for (const { name, logs, rootfs } of containers) {
    const { resources } = spec.containers.find((container) => container.name === name) ?? {};
    const limit = toQuantity(resources?.limits?.['ephemeral-storage']);
    const used = (logs?.usedBytes ?? 0) + (dedicatedImageFs ? 0 : (rootfs?.usedBytes ?? 0));
    if (limit.nanos > 0n && BigInt(used) > quantityValue(limit)) {
      return {
        signal: 'ephemeralcontainerfs.limit',
        message: `Container ${name} exceeded its local ephemeral storage limit "${formatQuantity(limit)}". `,
      };
    }
  }
  return undefined;
}
