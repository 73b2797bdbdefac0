import type { ChildProcess } from 'node:child_process';
import { hasCode } from '../../errors.ts';

/** Kills a child that leads a process group, with all processes of the group. Does nothing if they have exited. */
export function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}
