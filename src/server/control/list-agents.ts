import { readlink } from 'node:fs/promises';
import { listPIDs } from '../../process/process-identity.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { rootDirOfSocket } from './socket-paths.ts';

/** An agent that runs on this machine. */
export interface ListedAgent {
  pid: number;
  rootDir: string;
}

/** More than 10,000 sockets. Any user may open sockets, so the table is unbounded. */
const maxTableBytes = 4 * 1024 * 1024;

/**
 * The agents of this machine that this user may see. The kernel lists their control sockets by root-dir and PID, for
 * each network namespace.
 */
export async function listAgents(): Promise<ListedAgent[]> {
  const namespaces = new Set<string>();
  const agents = new Map<number, ListedAgent>();
  for (const pid of await listPIDs()) {
    // The process exited, or belongs to another user.
    const namespace = await readlink(`/proc/${pid}/ns/net`).catch(() => undefined);
    if (namespace === undefined || namespaces.has(namespace)) continue;
    namespaces.add(namespace);
    const table = await readRegularFile(`/proc/${pid}/net/unix`, maxTableBytes).catch(() => Buffer.alloc(0));
    for (const agent of agentsIn(table.toString('utf8'))) agents.set(agent.pid, agent);
  }
  return [...agents.values()];
}

/** The agents whose control sockets a table like /proc/net/unix lists. */
export function agentsIn(table: string): ListedAgent[] {
  const paths = [...table.matchAll(/^(?:\S+ +){7}(\/.*)$/gm)].map(([, path = '']) => path);
  return [...new Set(paths)].flatMap((path) => rootDirOfSocket(path) ?? []);
}
