import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename } from 'node:path';

/**
 * True if a process has one of these files open for writing. Reads /proc, because Node does not report when a file is
 * closed. Skips processes that we may not inspect. Never rejects.
 */
export async function areOpenForWriting(paths: readonly string[]): Promise<boolean> {
  const names = new Set(paths.map((path) => basename(path)));
  const files = new Set(await Promise.all(paths.map(identityOf)));
  files.delete(undefined);
  if (files.size === 0) return false;
  for (const pid of await namesIn('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const fd of await namesIn(`/proc/${pid}/fd`)) {
      const open = `/proc/${pid}/fd/${fd}`;
      // Checks the name first: `stat` would wait for a file system that hangs.
      if (!names.has(basename(await readlink(open).catch(() => '')))) continue;
      if (files.has(await identityOf(open)) && (await isForWriting(pid, fd))) return true;
    }
  }
  return false;
}

/** Device and inode. Undefined if the file is missing or unreadable. */
async function identityOf(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats && `${stats.dev}:${stats.ino}`;
}

/** O_WRONLY and O_RDWR are 1 and 2 on every architecture. */
async function isForWriting(pid: string, fd: string): Promise<boolean> {
  const fdinfo = await readFile(`/proc/${pid}/fdinfo/${fd}`, 'utf8').catch(() => '');
  return (Number.parseInt(/^flags:\s*([0-7]+)/m.exec(fdinfo)?.[1] ?? '0', 8) & 3) !== 0;
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
