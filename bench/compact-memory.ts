import { writeFile } from 'node:fs/promises';

/**
 * Has the kernel drop its caches and join its free memory. A long-lived VM has it in small pieces. The host may then
 * charge up to 10 µs for the first touch of each page after some seconds. Does nothing without the right to.
 */
export async function compactMemory(): Promise<void> {
  // Pages that are not written yet stay.
  for (const [file, value] of [
    ['drop_caches', '3'],
    ['compact_memory', '1'],
  ] as const) {
    await writeFile(`/proc/sys/vm/${file}`, value).catch(() => undefined);
  }
}
