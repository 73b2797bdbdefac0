import { readFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isOutOfResources } from '../errors.ts';

/** Identifies a process. The start time distinguishes it from a later process with the same PID. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly startTicks: string;
}

/** Identifies a running process. Returns undefined if it does not exist or is a zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readStat(pid);
  return stat === undefined ? undefined : { pid, startTicks: stat.startTicks };
}

/** The kernel's record of a running process. `state` is one letter, such as `T` for stopped; see proc(5). */
interface ProcessStat {
  parent: number;
  startTicks: string;
  state: string;
  /** CPU time of all its threads, in clock ticks. */
  cpuTicks: number;
}

/** Reads the stat of a running process. Returns undefined if it does not exist or is a zombie. */
export async function readStat(pid: number): Promise<ProcessStat | undefined> {
  const stat = await readProcessFile(pid, 'stat');
  // The fields after the program name, which may itself contain spaces and parentheses: the first are state and parent,
  // the 12th and 13th are CPU times, and the 20th is the start time.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, startTicks] = [fields?.[0], fields?.[1], fields?.[19]];
  if (parent === undefined || startTicks === undefined || state === undefined || 'ZXx'.includes(state))
    return undefined;
  return { parent: Number(parent), startTicks, state, cpuTicks: Number(fields?.[11]) + Number(fields?.[12]) };
}

/**
 * Reads a file of a process in /proc. Returns undefined if the process does not exist or we may not read the file.
 * Rejects if nothing can be read now, for example because we have no descriptors left: that says nothing about the
 * process.
 */
export async function readProcessFile(pid: number, name: 'stat' | 'cmdline'): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${String(pid)}/${name}`, 'utf8');
  } catch (error) {
    if (isOutOfResources(error)) throw error;
    return undefined;
  }
}

/** Returns the PIDs of all processes. */
export async function listPIDs(): Promise<number[]> {
  return (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
}

/** Number of processes whose names are read before other work gets its turn, which takes about a millisecond. */
const namesPerTurn = 64;

/**
 * Returns the PIDs of the processes whose name contains this text. The kernel keeps the first 15 bytes of a name.
 * Rejects if nothing can be read now. Reads synchronously, because the kernel answers from memory and promises cost
 * more.
 */
export async function listPIDsNamed(text: string): Promise<number[]> {
  const named: number[] = [];
  for (const [index, pid] of (await listPIDs()).entries()) {
    if (index % namesPerTurn === 0) await nextTurn();
    if (nameOf(pid).includes(text)) named.push(pid);
  }
  return named;
}

/** Returns the name of a process, or '' if it has exited. */
function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${String(pid)}/comm`, 'utf8');
  } catch (error) {
    if (isOutOfResources(error)) throw error;
    return '';
  }
}

/**
 * True for a process that runs as root with our root folder, so not for another user's or a container's. Only such a
 * process's command line can be trusted, because each process can overwrite its own. Rejects if nothing can be read
 * now, for example because we have no descriptors left: that must not hide a running containerd.
 */
export async function isOfThisRoot(pid: number): Promise<boolean> {
  const folder = `/proc/${String(pid)}`;
  try {
    const status = await readFile(`${folder}/status`, 'utf8');
    if (!/^Uid:\t0\t0\t0\t0$/m.test(status)) return false;
    const [own, other] = await Promise.all([stat('/'), stat(`${folder}/root/`)]);
    return own.dev === other.dev && own.ino === other.ino;
  } catch (error) {
    if (isOutOfResources(error)) throw error;
    // The process has exited, or we may not look at its root.
    return false;
  }
}

/** True while this very process runs, not another one with its PID. */
export async function isRunning(process: ProcessIdentity): Promise<boolean> {
  return (await identify(process.pid))?.startTicks === process.startTicks;
}

/** Signals this process. Does nothing if it has exited, even if another process has its PID now. */
export async function signalProcess(target: ProcessIdentity, name: NodeJS.Signals): Promise<void> {
  if (!(await isRunning(target))) return;
  try {
    process.kill(target.pid, name);
  } catch {
    // The process exited in the meantime.
  }
}

/** Describes the state of a process in one or two words. Returns undefined if it has exited. */
export async function describeState(process: ProcessIdentity): Promise<string | undefined> {
  const stat = await readStat(process.pid);
  if (stat?.startTicks !== process.startTicks) return undefined;
  return stateWords[stat.state] ?? `state ${stat.state}`;
}

/** True while a process is stopped by a signal or a debugger and therefore does nothing. */
export async function isStopped(process: ProcessIdentity): Promise<boolean> {
  const stat = await readStat(process.pid);
  return stat?.startTicks === process.startTicks && (stat.state === 'T' || stat.state === 't');
}

/** Distinguishes a process that works, however slowly, from one that is stuck. */
export class ProgressWatch {
  private cpuTicks: number | undefined;

  constructor(private readonly process: ProcessIdentity) {}

  /**
   * True if the process is waiting for a CPU or has used one since the last call. False if it has exited or is stopped.
   */
  async hasProgressed(): Promise<boolean> {
    const before = this.cpuTicks;
    const stat = await readStat(this.process.pid);
    if (stat?.startTicks !== this.process.startTicks) return false;
    this.cpuTicks = stat.cpuTicks;
    if (stat.state === 'T' || stat.state === 't') return false;
    return stat.state === 'R' || (before !== undefined && stat.cpuTicks > before);
  }
}

const stateWords: Readonly<Record<string, string>> = {
  R: 'busy',
  S: 'asleep',
  I: 'asleep',
  D: 'stuck in the kernel',
  T: 'stopped',
  t: 'stopped by a debugger',
};
