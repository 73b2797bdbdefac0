import { readdir, readFile, stat } from 'node:fs/promises';
import { isOutOfResources } from './errors.ts';

/** A process, told from a later one with the same number by when it started. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly startTicks: string;
}

/** Reads what tells a running process from others; undefined when there is none, or only its zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readStat(pid);
  return stat === undefined ? undefined : { pid, startTicks: stat.startTicks };
}

/** What the kernel says of a running process. `state` is one letter, such as `T` for stopped: proc(5). */
interface ProcessStat {
  parent: number;
  startTicks: string;
  state: string;
}

/** Reads the stat of a running process. Returns undefined if there is none, or only its zombie. */
export async function readStat(pid: number): Promise<ProcessStat | undefined> {
  const stat = await readProcessFile(pid, 'stat');
  // Fields after the program's name, which may hold spaces and brackets itself: state, parent, and start time as the 20th.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, startTicks] = [fields?.[0], fields?.[1], fields?.[19]];
  if (parent === undefined || startTicks === undefined || state === undefined || 'ZXx'.includes(state))
    return undefined;
  return { parent: Number(parent), startTicks, state };
}

/**
 * What the kernel says of a process in a file of its folder in /proc. Returns undefined if there is no such process, or it is
 * not ours to look at. Rejects if nothing can be read now, as when no descriptor is left: that says nothing about the process.
 */
export async function readProcessFile(pid: number, name: 'stat' | 'cmdline'): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${String(pid)}/${name}`, 'utf8');
  } catch (error) {
    if (isOutOfResources(error)) throw error;
    return undefined;
  }
}

/** Of everything that runs. */
export async function listPIDs(): Promise<number[]> {
  return (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
}

/**
 * True for a process of root, whoever started it, that has the root folder of this one: none of another user and none in a
 * container. Only of such a process the command line can be trusted: each process may write into its own what it likes.
 */
export async function isOfThisRoot(pid: number): Promise<boolean> {
  const folder = `/proc/${String(pid)}`;
  try {
    const status = await readFile(`${folder}/status`, 'utf8');
    if (!/^Uid:\t0\t0\t0\t0$/m.test(status)) return false;
    const [own, other] = await Promise.all([stat('/'), stat(`${folder}/root/`)]);
    return own.dev === other.dev && own.ino === other.ino;
  } catch {
    // It ended, or lets nobody look.
    return false;
  }
}

/** True while this very process runs. */
export async function isRunning(process: ProcessIdentity): Promise<boolean> {
  return (await identify(process.pid))?.startTicks === process.startTicks;
}

/** Signals this very process. When it is gone nothing happens, whoever has its number now. */
export async function signalProcess(target: ProcessIdentity, name: NodeJS.Signals): Promise<void> {
  if (!(await isRunning(target))) return;
  try {
    process.kill(target.pid, name);
  } catch {
    // It ended in the meantime.
  }
}

/** What a process does as its state says, in one or two words for people. Returns undefined if it has ended. */
export async function describeState(process: ProcessIdentity): Promise<string | undefined> {
  const stat = await readStat(process.pid);
  if (stat?.startTicks !== process.startTicks) return undefined;
  return stateWords[stat.state] ?? `state ${stat.state}`;
}

/** True while a process is stopped, by a signal or by a debugger: it does nothing until it is continued. */
export async function isStopped(process: ProcessIdentity): Promise<boolean> {
  const stat = await readStat(process.pid);
  return stat?.startTicks === process.startTicks && (stat.state === 'T' || stat.state === 't');
}

const stateWords: Readonly<Record<string, string>> = {
  R: 'busy',
  S: 'asleep',
  I: 'asleep',
  D: 'stuck in the kernel',
  T: 'stopped',
  t: 'stopped by a debugger',
};
