import { readdir, readlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readRegularFile } from '../../files/regular-file.ts';
import { identify, isOfThisRoot, listPIDs, type ProcessIdentity } from '../../process/process-identity.ts';

/** More than 10,000 sockets. Any user may open sockets, so the table is unbounded. */
const maxTableBytes = 4 * 1024 * 1024;

/**
 * Finds a process of root that has the control socket open, such as a child that an agent left when it exited. Resolves
 * with undefined if this user can see no such process. Never rejects.
 */
export async function findSocketHolder(socketPath: string): Promise<ProcessIdentity | undefined> {
  const table = await readRegularFile('/proc/net/unix', maxTableBytes).catch(() => Buffer.alloc(0));
  const links = linksTo(socketPath, table.toString('utf8'));
  if (links.size === 0) return undefined;
  for (const pid of await listPIDs().catch(() => [])) {
    const isHolder = (await hasOpen(pid, links)) && (await isOfThisRoot(pid).catch(() => false));
    if (isHolder) return identify(pid).catch(() => undefined);
  }
  return undefined;
}

/** What /proc shows for descriptors of sockets that listen at this path, or at its unnamed one (`socket-paths.ts`). */
function linksTo(socketPath: string, table: string): Set<string> {
  const isOfSocket = (path: string): boolean =>
    path === socketPath || (dirname(path) === dirname(socketPath) && /\/sock\.\d+$/.test(path));
  const rows = [...table.matchAll(/^(?:\S+ +){6}(\d+) (\/.*)$/gm)];
  return new Set(rows.flatMap(([, inode = '', path = '']) => (isOfSocket(path) ? [`socket:[${inode}]`] : [])));
}

async function hasOpen(pid: number, links: ReadonlySet<string>): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  for (const fd of await readdir(folder).catch(() => []))
    if (links.has(await readlink(`${folder}/${fd}`).catch(() => ''))) return true;
  return false;
}
