import { formatQuantity, quantityValue, toQuantity } from '../../api/values/quantity.ts';
import type { Pod } from '../../api/types.ts';

/** An emptyDir on disk that may hold only so much. */
export interface LimitedEmptyDir {
  name: string;
  /** As written, canonical. */
  sizeLimit: string;
  limitBytes: bigint;
}

/** The emptyDirs whose size nobody limits but us: the kernel limits those in memory. */
export function limitedEmptyDirs({ spec }: Pod): LimitedEmptyDir[] {
  return (spec.volumes ?? []).flatMap(({ name, emptyDir }) => {
    if (emptyDir === undefined || emptyDir.medium === 'Memory') return [];
    const quantity = toQuantity(emptyDir.sizeLimit);
    const limitBytes = quantityValue(quantity);
    return limitBytes > 0n ? [{ name, sizeLimit: formatQuantity(quantity), limitBytes }] : [];
  });
}

/** Why a pod whose emptyDir grew too large is evicted. kubelet: eviction/helpers.go emptyDirMessageFmt */
export function emptyDirEvictionMessage({ name, sizeLimit }: LimitedEmptyDir): string {
  return `Usage of EmptyDir volume "${name}" exceeds the limit "${sizeLimit}". `;
}
