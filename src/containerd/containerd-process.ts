import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { writeFileAtomic } from '../write-file-atomic.ts';

/** A process, told from a later one with the same number by when it started. */
export interface ContainerdProcess {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly startTicks: string;
}

/**
 * The running containerd that was started with this configuration file: the one in the pid file, or, when a crash came
 * before that was written, the one that /proc shows.
 */
export async function findContainerdProcess(
  configFile: string,
  pidFile: string,
): Promise<ContainerdProcess | undefined> {
  const recorded = await readPidFile(pidFile);
  if (recorded !== undefined && (await isOurs(recorded.pid, configFile)) && (await isRunning(recorded)))
    return recorded;
  for (const pid of await listPIDs()) if (await isOurs(pid, configFile)) return identify(pid);
  return undefined;
}

/** Reads what tells a running process from others; undefined when there is none, or only its zombie. */
export async function identify(pid: number): Promise<ContainerdProcess | undefined> {
  const stat = await readStat(pid);
  return stat === undefined ? undefined : { pid, startTicks: stat.startTicks };
}

/** What the kernel says of a running process; undefined when there is none, or only its zombie. */
export async function readStat(pid: number): Promise<{ parent: number; startTicks: string } | undefined> {
  const stat = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(() => undefined);
  // Fields after the program's name, which may hold spaces and brackets itself: state, parent, and start time as the 20th.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, startTicks] = [fields?.[0], fields?.[1], fields?.[19]];
  if (parent === undefined || startTicks === undefined || state === 'Z' || state === 'X') return undefined;
  return { parent: Number(parent), startTicks };
}

/** Of everything that runs. */
export async function listPIDs(): Promise<number[]> {
  return (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
}

/** True while this very process runs. */
export async function isRunning(process: ContainerdProcess): Promise<boolean> {
  return (await identify(process.pid))?.startTicks === process.startTicks;
}

/** Signals this very process. When it is gone nothing happens, whoever has its number now. */
export async function signalProcess(target: ContainerdProcess, name: NodeJS.Signals): Promise<void> {
  if (!(await isRunning(target))) return;
  try {
    process.kill(target.pid, name);
  } catch {
    // It ended in the meantime.
  }
}

/** Records a process for the next start of this program. */
export function writePidFile(pidFile: string, process: ContainerdProcess): Promise<void> {
  return writeFileAtomic(pidFile, `${JSON.stringify(process)}\n`);
}

async function readPidFile(pidFile: string): Promise<ContainerdProcess | undefined> {
  try {
    const value = JSON.parse(await readFile(pidFile, 'utf8')) as Partial<ContainerdProcess>;
    return typeof value.pid === 'number' && typeof value.startTicks === 'string'
      ? { pid: value.pid, startTicks: value.startTicks }
      : undefined;
  } catch {
    // Missing or not ours to read: /proc knows.
    return undefined;
  }
}

async function isOurs(pid: number, configFile: string): Promise<boolean> {
  const commandLine = await readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '');
  return isContainerdCommand(commandLine.split('\0'), configFile);
}

/** True for the command line that `containerdArguments` makes. */
export function isContainerdCommand(args: readonly string[], configFile: string): boolean {
  const [program = '', option, file] = args;
  return basename(program) === 'containerd' && option === '--config' && file === configFile;
}

/** Arguments that a managed containerd is started with, and known by. */
export function containerdArguments(configFile: string): string[] {
  return ['--config', configFile];
}
