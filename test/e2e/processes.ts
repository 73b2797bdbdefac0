import { readdir, readFile } from 'node:fs/promises';
import { hasCode } from '../../src/errors.ts';

/** A process on this machine. */
export interface RunningProcess {
  readonly pid: number;
  readonly commandLine: string;
}

/** Returns the processes whose command line contains this folder: containerd, its shims, and the agent. */
export async function processesOf(folder: string): Promise<RunningProcess[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const read = async (pid: number): Promise<RunningProcess> => {
    const arguments_ = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return { pid, commandLine: arguments_.split('\0').join(' ').trim() };
  };
  return (await Promise.all(pids.map(read))).filter(({ commandLine }) => commandLine.includes(folder));
}

/** Sends a signal to a process, unless it has already exited. */
export function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}
