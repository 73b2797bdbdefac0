import { readdir, readFile, stat } from 'node:fs/promises';

/**
 * True if a process has an inotify watch on the folder that has this path now: false if the folder is missing, or was
 * replaced since the process began to watch it. Rejects if the process has exited. See proc_pid_fdinfo(5)
 */
export async function watchesFolder(pid: number, path: string): Promise<boolean> {
  const folder = await stat(path).catch(() => undefined);
  const descriptors = `/proc/${pid}/fdinfo`;
  const names = await readdir(descriptors);
  if (folder === undefined) return false;
  const watch = new RegExp(`^inotify .*\\bino:${folder.ino.toString(16)}\\b`, 'm');
  for (const name of names) {
    // A descriptor may be closed meanwhile.
    if (watch.test(await readFile(`${descriptors}/${name}`, 'utf8').catch(() => ''))) return true;
  }
  return false;
}
