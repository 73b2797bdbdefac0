import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage, hasCode, isOutOfResources } from '../errors.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { setAside } from '../files/set-aside.ts';
import type { Logger } from '../logger.ts';
import {
  identify,
  isOfThisRoot,
  isRunning,
  listPIDs,
  type ProcessIdentity,
  readProcessFile,
} from '../process/process-identity.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';

const maxPidFileBytes = 4096;

/**
 * Finds the running containerd with this configuration file: from the pid file, or from /proc if we crashed before
 * writing that. Ignores processes of other users and in containers, because they may fake the command line. A damaged
 * pid file is logged and renamed.
 */
export async function findContainerdProcess(
  configFile: string,
  pidFile: string,
  logger: Pick<Logger, 'warn'>,
): Promise<ProcessIdentity | undefined> {
  const recorded = await readPidFile(pidFile, logger);
  if (recorded !== undefined && (await isOurs(recorded.pid, configFile)) && (await isRunning(recorded)))
    return recorded;
  for (const pid of await listPIDs()) if (await isOurs(pid, configFile)) return identify(pid);
  return undefined;
}

/** Records a process for the next run of this program. */
export function writePidFile(pidFile: string, process: ProcessIdentity): Promise<void> {
  return writeFileAtomic(pidFile, `${JSON.stringify(process)}\n`);
}

async function readPidFile(pidFile: string, logger: Pick<Logger, 'warn'>): Promise<ProcessIdentity | undefined> {
  try {
    const value: unknown = JSON.parse((await readRegularFile(pidFile, maxPidFileBytes)).toString());
    const { pid, startTicks } = Object(value) as Partial<Record<keyof ProcessIdentity, unknown>>;
    if (typeof pid === 'number' && typeof startTicks === 'string') return { pid, startTicks };
    throw new Error('it names no process');
  } catch (error) {
    // Says nothing about the file.
    if (isOutOfResources(error)) throw error;
    // /proc is searched next.
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) await setAside(pidFile, errorMessage(error), logger);
    return undefined;
  }
}

async function isOurs(pid: number, configFile: string): Promise<boolean> {
  const commandLine = (await readProcessFile(pid, 'cmdline')) ?? '';
  return isContainerdCommand(commandLine.split('\0').slice(0, -1), configFile) && (await isOfThisRoot(pid));
}

/** True for a command line built by `containerdArguments`. */
export function isContainerdCommand([program = '', ...args]: readonly string[], configFile: string): boolean {
  return basename(program) === 'containerd' && isDeepStrictEqual(args, containerdArguments(configFile));
}

/** The arguments of a managed containerd, which also identify it. */
export function containerdArguments(configFile: string): string[] {
  return ['--config', configFile];
}
