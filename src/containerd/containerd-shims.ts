import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import pLimit from 'p-limit';
import { identify, isOfThisRoot, listPIDsNamed, type ProcessIdentity } from '../process/process-identity.ts';
import { criNamespace } from './cri-namespace.ts';

/** A containerd shim: the process that supervises the containers of one sandbox and outlives containerd. */
export interface ContainerdShim {
  readonly process: ProcessIdentity;
  /** Id of its sandbox. */
  readonly id: string;
  /** Path of its executable. */
  readonly program: string;
}

/** Part of the name of each shim, and of few other processes. */
const shimName = 'containerd';
/** Maximum number of processes checked at the same time. Node allocates 64 KiB for each /proc file that it reads. */
const maxParallelChecks = 8;

/**
 * Finds the running shims started by the CRI plugin of the containerd on this socket. Ignores processes of other users
 * and in containers: they may fake a shim's command line, and the program named there is run as root.
 */
export async function findShims(socket: string): Promise<ContainerdShim[]> {
  const limit = pLimit(maxParallelChecks);
  const found = await Promise.all((await listPIDsNamed(shimName)).map((pid) => limit(shimOf, pid, socket)));
  return found.filter((shim) => shim !== undefined);
}

async function shimOf(pid: number, socket: string): Promise<ContainerdShim | undefined> {
  // Identifies the process first: if its PID is reused in the meantime, the identity no longer matches.
  const process = await identify(pid);
  if (process === undefined || !(await isOfThisRoot(pid))) return undefined;
  const commandLine = await readFile(`/proc/${String(pid)}/cmdline`, 'utf8').catch(() => '');
  const parsed = parseShimCommand(commandLine.split('\0').slice(0, -1), socket);
  return parsed && { process, ...parsed };
}

/** Shims of runtimes: `containerd-shim-runc-v2`, `containerd-shim-wasmtime-v1`. */
const shimPattern = /^containerd-shim-\w[\w.-]*-v\d+$/;
const flags = ['-namespace', '-id', '-address', '-publish-binary'];

/** Returns undefined if the process is not a shim of this containerd, or one that only starts or removes a shim. */
export function parseShimCommand(
  [program = '', ...args]: readonly string[],
  socket: string,
): { program: string; id: string } | undefined {
  if (!shimPattern.test(basename(program))) return undefined;
  const words = args.filter((arg) => arg !== '-debug');
  const given = new Map<string, string>();
  for (let index = 0; index < words.length; index += 2) {
    const [flag = '', value = ''] = words.slice(index, index + 2);
    if (!flags.includes(flag) || given.has(flag)) return undefined;
    given.set(flag, value);
  }
  const id = given.get('-id') ?? '';
  const isOurs =
    given.get('-namespace') === criNamespace && given.get('-address') === socket && /^[\da-f]{64}$/.test(id);
  return isOurs ? { program, id } : undefined;
}
