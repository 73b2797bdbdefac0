import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { identify, isOfThisRoot, listPIDs, type ProcessIdentity } from '../process-identity.ts';
import { criNamespace } from './cri-namespace.ts';

/** A process that looks after the containers of one sandbox, and outlives containerd. */
export interface ContainerdShim {
  readonly process: ProcessIdentity;
  /** Of its sandbox. */
  readonly id: string;
  /** Path of its program. */
  readonly program: string;
}

/**
 * The running shims that the CRI plugin of the containerd on this socket started. Others may show the command line of a shim
 * too, and the program that it names is run as root: a process of a user or in a container is none.
 */
export async function findShims(socket: string): Promise<ContainerdShim[]> {
  const found = await Promise.all((await listPIDs()).map((pid) => shimOf(pid, socket)));
  return found.filter((shim) => shim !== undefined);
}

async function shimOf(pid: number, socket: string): Promise<ContainerdShim | undefined> {
  // In this order: a process whose number changes hands in between is another one than the identified.
  const process = await identify(pid);
  if (process === undefined || !(await isOfThisRoot(pid))) return undefined;
  const commandLine = await readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '');
  const parsed = parseShimCommand(commandLine.split('\0').slice(0, -1), socket);
  return parsed && { process, ...parsed };
}

/** Undefined: not a shim of this containerd, or one that only starts or removes another. */
export function parseShimCommand(
  [program = '', ...args]: readonly string[],
  socket: string,
): { program: string; id: string } | undefined {
  if (basename(program) !== 'containerd-shim-runc-v2') return undefined;
  const [namespaceFlag, namespace, idFlag, id = '', addressFlag, address, ...rest] = args.filter(
    (arg) => arg !== '-debug',
  );
  const isOurs =
    namespaceFlag === '-namespace' &&
    namespace === criNamespace &&
    idFlag === '-id' &&
    /^[\da-f]{64}$/.test(id) &&
    addressFlag === '-address' &&
    address === socket;
  return isOurs && rest.length === 0 ? { program, id } : undefined;
}
