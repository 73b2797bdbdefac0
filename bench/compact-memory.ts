import { writeFile } from 'node:fs/promises';

/**
 * Makes the kernel drop its caches and merge its free memory. A long-lived VM has its memory in small pieces, and the
 * host may then charge up to 10 µs for the first access to each page after some seconds. Does nothing without
 * permission.
 */
export async function compactMemory(): Promise<void> {
  // Pages that are not yet written to disk stay.
  for (const [file, value] of [
    ['drop_caches', '3'],
    ['compact_memory', '1'],
  ] as const) {
    await writeFile(`/proc/sys/vm/${file}`, value).catch(() => undefined);
  }
}
