import { accessSync, constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { defaultRootDir } from '../../files/root-dir.ts';

/** Anyone may search it. It has a folder for each root-dir, which only root and the control group may search. */
const groupFolders = '/run/kubelet-ts-control';

/** Path of root's control socket for a root-dir. It is also the lock of the root-dir. */
export function rootSocketPath(rootDir: string): string {
  return rootDir === defaultRootDir ? '/run/kubelet-ts/kubelet-ts.sock' : join(rootDir, 'kubelet-ts.sock');
}

/** Path of the control socket for the control group. It is outside the root-dir, whose files are only for root. */
export function groupSocketPath(rootDir: string): string {
  const folder = rootDir === defaultRootDir ? 'default' : asName(rootDir);
  return join(groupFolders, folder, 'kubelet-ts.sock');
}

/**
 * Path of a socket of an agent until its permissions are set. The kernel keeps it in its list of sockets. It is shorter
 * than the final path, because the kernel bounds it too, and Node truncates a longer one.
 */
export function unnamedSocketPath(path: string, pid = process.pid): string {
  return join(dirname(path), `sock.${pid}`);
}

/** The agent that opened an unnamed socket. Returns undefined for other paths, and for sockets of the control group. */
export function rootDirOfSocket(path: string): { rootDir: string; pid: number } | undefined {
  const [, folder = '', pid] = /^(\/.*)\/sock\.(\d+)$/.exec(path) ?? [];
  if (pid === undefined || dirname(folder) === groupFolders) return undefined;
  return { rootDir: folder === dirname(rootSocketPath(defaultRootDir)) ? defaultRootDir : folder, pid: Number(pid) };
}

/** A file name that no other absolute path has: `-tmp-kts%2Da` for `/tmp/kts-a`. */
function asName(path: string): string {
  return path.replaceAll('%', '%25').replaceAll('-', '%2D').replaceAll('/', '-');
}

interface User {
  isRoot: boolean;
  mayOpen: (path: string) => boolean;
}

const thisUser: User = { isRoot: process.getuid?.() === 0, mayOpen };

/**
 * Path of the control socket that this user uses: root's, or that of the group if this user may open only that one. A
 * user that may open neither gets root's, whose error mentions root.
 */
export function controlSocketPath(rootDir: string, user: User = thisUser): string {
  const own = rootSocketPath(rootDir);
  if (user.isRoot || user.mayOpen(own)) return own;
  const shared = groupSocketPath(rootDir);
  return user.mayOpen(shared) ? shared : own;
}

function mayOpen(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
