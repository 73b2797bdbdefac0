import { readFile } from 'node:fs/promises';

/** Clock ticks a second in /proc/PID/stat: the kernel shows 100 to programs, whatever it has inside. */
const ticksPerSecond = 100;

export interface Usage {
  cpuMs: number;
  residentMB: number;
}

/** What a process used since it began, and the memory that it has now. */
export async function processUsage(pid: number): Promise<Usage> {
  const [{ own }, status] = await Promise.all([cpuMs(pid.toString()), readFile(`/proc/${pid}/status`, 'utf8')]);
  const kilobytes = Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]);
  return { cpuMs: own, residentMB: kilobytes / 1024 };
}

/** Milliseconds of CPU that our children used that have ended. */
export async function endedChildrenCpuMs(): Promise<number> {
  return (await cpuMs('self')).endedChildren;
}

async function cpuMs(process: string): Promise<{ own: number; endedChildren: number }> {
  const stat = await readFile(`/proc/${process}/stat`, 'utf8');
  // The fields after the name of the program, which may have spaces and ends at the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = NaN, system = NaN, childrenUser = NaN, childrenSystem = NaN] = fields.slice(11, 15).map(Number);
  return {
    own: ((user + system) * 1000) / ticksPerSecond,
    endedChildren: ((childrenUser + childrenSystem) * 1000) / ticksPerSecond,
  };
}
