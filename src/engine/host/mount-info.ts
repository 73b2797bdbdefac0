import { readFileSync } from 'node:fs';

/**
 * Reads the mounts that this process sees, in the kernel's format. Reads on this thread, because the kernel returns 4
 * KB at a time, and waiting for another thread takes longer than reading. With 650 mounts there are 60 reads.
 */
export async function readMountInfo(): Promise<string> {
  return Promise.resolve(readFileSync('/proc/self/mountinfo', 'utf8'));
}
