import { quantityValue, toQuantity } from '../../api/values/quantity.ts';
import type { ResourceTotals } from '../../api/values/resource-totals.ts';

const resourcePrefix = 'hugepages-';
const unitNames = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** Bytes of huge pages by page size in bytes. kubelet: cm/helpers_linux.go HugePageLimits */
export function hugePageLimits(totals: ResourceTotals): Map<bigint, bigint> {
  const limits = new Map<bigint, bigint>();
  for (const [name, quantity] of totals) {
    if (!name.startsWith(resourcePrefix)) continue;
    const pageSize = quantityValue(toQuantity(name.slice(resourcePrefix.length)));
    limits.set(pageSize, (limits.get(pageSize) ?? 0n) + quantityValue(quantity));
  }
  return limits;
}

/**
 * Formats a page size as the kernel and runtimes do, for example `2MB`. kubelet: v1/helper HugePageUnitSizeFromByteSize
 */
export function hugePageSizeName(bytes: bigint): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024n && unit < unitNames.length - 1) {
    size /= 1024n;
    unit++;
  }
  return `${size}${unitNames[unit] ?? ''}`;
}
