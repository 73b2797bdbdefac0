import { readdir, readFile } from 'node:fs/promises';
import { hasCode } from '../../src/errors.ts';

/** A process of this machine. */
export interface RunningProcess {
  readonly pid: number;
  readonly commandLine: string;
}

/** Processes whose command line names this folder: containerd and its shims, and the agent. */
export async function processesOf(folder: string): Promise<RunningProcess[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const read = async (pid: number): Promise<RunningProcess> => {
    const arguments_ = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return { pid, commandLine: arguments_.split('\0').join(' ').trim() };
  };
  return (await Promise.all(pids.map(read))).filter(({ commandLine }) => commandLine.includes(folder));
}

/** Ends a process at once, if it has not ended by itself. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}
