import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';

/** Names of the files that `makeOddFiles` makes, without a suffix. */
export const oddFiles = ['fifo', 'socket', 'to-zero', 'to-itself', 'to-shadow', 'folder', 'sparse', 'noise'] as const;

/** Files that are no files, or far too long, in a folder that is there. Resolves to what closes the socket. */
export async function makeOddFiles(folder: string, suffix = ''): Promise<() => void> {
  const path = (name: (typeof oddFiles)[number]): string => join(folder, `${name}${suffix}`);
  await execa('mkfifo', [path('fifo')]);
  const server = await listen(path('socket'));
  await symlink('/dev/zero', path('to-zero'));
  await symlink(path('to-itself'), path('to-itself'));
  await symlink('/etc/shadow', path('to-shadow'));
  await mkdir(path('folder'));
  await writeFile(path('sparse'), '');
  await truncate(path('sparse'), 4 * 1024 ** 3);
  await writeFile(path('noise'), Buffer.alloc(30 * 1024 * 1024, '\x1b[2Jnoise\u202e'));
  return () => server.close();
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject).listen(path, () => {
      resolve(server);
    });
  });
}
