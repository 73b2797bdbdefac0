import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';

/**
 * Creates a folder of the machine for pods to mount. It contains a file, a socket, and a folder whose mounts are
 * visible to others.
 */
export async function makeHostFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp('/tmp/kts-facts-');
  await mkdir(join(path, 'folder'));
  await writeFile(join(path, 'folder/file'), 'of the machine');
  await mkdir(join(path, 'shared/mounted'), { recursive: true });
  const server = createServer().listen(join(path, 'socket'));
  await once(server, 'listening');
  const shared = join(path, 'shared');
  await execa('mount', ['--bind', shared, shared]);
  await execa('mount', ['--make-shared', shared]);
  const remove = async (): Promise<void> => {
    server.close();
    // Includes what a pod mounted there, if its hook did not get to unmount it.
    await execa('umount', ['-l', shared]);
    await rm(path, { recursive: true });
  };
  return { path, remove };
}
