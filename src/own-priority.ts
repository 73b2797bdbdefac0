import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { errorMessage, hasCode } from './errors.ts';
import type { Logger } from './logger.ts';

/** nice value of an agent: pods that use all CPUs then delay its probes and answers less. */
const agentNice = -10;

/**
 * Raises the priority of all threads, and of threads and processes that they start later: the main thread waits for
 * those of file operations. Keeps a nice value that was given to the process. Without CAP_SYS_NICE it only logs that.
 */
export function raiseOwnPriority(logger: Pick<Logger, 'debug'>): void {
  try {
    if (getPriority() !== 0) return;
    // The main thread first: threads that it starts meanwhile inherit its priority.
    setPriority(agentNice);
    for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), agentNice);
    if (isSessionLeader()) raiseSession(logger);
  } catch (error) {
    logger.debug({ err: errorMessage(error) }, 'The priority of this process stays as it is');
  }
}

/** False in a session that has other programs, such as that of a terminal. A service has a session of its own. */
function isSessionLeader(): boolean {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name of the program, in brackets, may have spaces.
  const [, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(session) === process.pid;
}

/**
 * Sessions share the CPUs evenly where the kernel groups processes by session: a nice value counts among those of one
 * session alone. sched(7), The autogroup feature
 */
function raiseSession(logger: Pick<Logger, 'debug'>): void {
  try {
    writeFileSync('/proc/self/autogroup', String(agentNice));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    logger.debug({ err: errorMessage(error) }, 'The priority of the session stays as it is');
  }
}

/** Starts a process with the priority from before `raiseOwnPriority`, because containers would inherit ours. */
export function withoutOwnPriority<T>(start: () => T): T {
  if (getPriority() !== agentNice) return start();
  setPriority(0);
  try {
    return start();
  } finally {
    setPriority(agentNice);
  }
}
