import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import type { CgroupFiles } from './cgroup-files.ts';

/** Others may start processes while these are moved. */
const maxRounds = 10;

/**
 * Moves the processes of a cgroup into its child `init`, because a cgroup of version 2 with processes of its own hands
 * no controller down. Processes that cannot be moved stay.
 */
export async function evacuateCgroup(folder: string, files: Pick<CgroupFiles, 'makeFolder' | 'write'>): Promise<void> {
  const child = join(folder, 'init');
  const immovable = new Set<number>();
  await files.makeFolder(child);
  for (let round = 0; round < maxRounds; round++) {
    const pids = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean).map(Number);
    // Processes of other PID namespaces are listed as 0, which would move ourselves.
    const movable = pids.filter((pid) => pid > 0 && !immovable.has(pid));
    if (movable.length === 0) return;
    for (const pid of movable) {
      await files.write(join(child, 'cgroup.procs'), String(pid)).catch((error: unknown) => {
        // ESRCH: it has ended.
        if (!hasCode(error, 'ESRCH')) immovable.add(pid);
      });
    }
  }
}
