import { quantityValue, toQuantity } from '../../api/quantity.ts';

/** Bytes a memory-backed emptyDir may hold; undefined leaves it to the kernel, which gives half of the memory. */
export function emptyDirMemoryBytes(sizeLimit: string | undefined): bigint | undefined {
  if (sizeLimit === undefined) return undefined;
  const bytes = quantityValue(toQuantity(sizeLimit));
  return bytes === 0n ? undefined : bytes;
}
