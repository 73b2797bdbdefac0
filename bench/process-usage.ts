import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Clock ticks per second in /proc/PID/stat: always 100 for programs. */
const ticksPerSecond = 100;

export interface Usage {
  cpuMs: number;
  residentMB: number;
}

/** Returns the CPU of a process since it started, and its current memory. */
export async function processUsage(pid: number): Promise<Usage> {
  const [{ own }, status] = await Promise.all([cpuMs(pid.toString()), readFile(`/proc/${pid}/status`, 'utf8')]);
  const kilobytes = Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]);
  return { cpuMs: own, residentMB: kilobytes / 1024 };
}

/**
 * Returns the CPU of a process's threads in milliseconds. More exact than its usage, but without threads that have
 * exited.
 */
export function threadsCpuMs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(folder).map((thread) =>
    Number(readFileSync(join(folder, thread, 'schedstat'), 'utf8').split(' ', 1)[0]),
  );
  return nanoseconds.reduce((sum, own) => sum + own, 0) / 1e6;
}

/** Returns the CPU of our children that have exited, in milliseconds. */
export async function endedChildrenCpuMs(): Promise<number> {
  return (await cpuMs('self')).endedChildren;
}

async function cpuMs(process: string): Promise<{ own: number; endedChildren: number }> {
  const stat = await readFile(`/proc/${process}/stat`, 'utf8');
  // The fields after the program's name, which may contain spaces and ends at the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = NaN, system = NaN, childrenUser = NaN, childrenSystem = NaN] = fields.slice(11, 15).map(Number);
  return {
    own: ((user + system) * 1000) / ticksPerSecond,
    endedChildren: ((childrenUser + childrenSystem) * 1000) / ticksPerSecond,
  };
}
