import { readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { containerLogLinksDir } from '../src/engine/container/log-paths.ts';

/** Removes the log links in this folder, which an agent leaves behind if it is stopped while its pods run. */
export async function removeLogLinks(folder: string): Promise<void> {
  const names = await readdir(containerLogLinksDir).catch(() => []);
  for (const name of names) {
    const link = join(containerLogLinksDir, name);
    const target = await readlink(link).catch(() => '');
    if (target.startsWith(`${folder}/`)) await rm(link, { force: true });
  }
}
