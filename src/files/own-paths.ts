import { lstatSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasCode, UserError } from '../errors.ts';

/** Folders in a root-dir whose content the agent runs, trusts or sends secrets to. */
const readFolders = [
  ...['applied', 'cni', 'cni/net.d', 'containerd', 'containerd/certs.d', 'image_manager', 'images'],
  'manifests-last-good',
  ...['persistent-volumes', 'pki', 'plugins', 'plugins_registry', 'pods', 'runs', 'seccomp'],
  ...['state', 'state/git', 'state/history', 'state/operations', 'state/status-urls'],
] as const;

/**
 * Throws a `UserError` if a user other than root and ourselves could have prepared the root-dir or could change its
 * content. Missing folders are fine.
 */
export function refuseForeignRootDir(rootDir: string): void {
  for (const path of [rootDir, ...readFolders.map((name) => join(rootDir, name))]) {
    const stats = statsOf(path);
    const problem = stats && (stats.isSymbolicLink() ? 'is a link' : (foreignOwner(stats) ?? otherWriters(stats)));
    if (problem === undefined) continue;
    throw new UserError(`the root-dir cannot be trusted: ${path} ${problem}`, {
      hint:
        'Choose another --root-dir. Or see what is in it, then make it a folder of root that no other user may write: ' +
        `ls -lR ${rootDir}`,
    });
  }
}

/** Throws a `UserError` if a user other than root and ourselves may be listening on this control socket. */
export function refuseForeignSocket(path: string): void {
  const [folder, socket] = [statsOf(dirname(path)), statsOf(path)];
  // In a sticky folder, nobody else can replace the socket.
  const isShared = folder !== undefined && (folder.mode & sticky) === 0 && otherWriters(folder) !== undefined;
  const owner = (folder && foreignOwner(folder)) ?? (socket && foreignOwner(socket));
  const problem = isShared ? 'is in a folder where others may write' : owner;
  if (socket === undefined || problem === undefined) return;
  throw new UserError(`the control socket ${path} is not trusted: it ${problem}`, {
    hint: `Another user may listen there. See who: ls -la ${dirname(path)}`,
  });
}

const sticky = 0o1000;

function foreignOwner({ uid }: Stats): string | undefined {
  return uid === 0 || uid === process.geteuid?.() ? undefined : `belongs to user ${uid}`;
}

function otherWriters({ mode, gid }: Stats): string | undefined {
  const isOwnGroup = gid === 0 || gid === process.getegid?.();
  return (mode & (isOwnGroup ? 0o002 : 0o022)) === 0 ? undefined : 'is writable for others';
}

/**
 * Returns undefined if there is nothing, or if this user may not read the path: then nothing is read from it either.
 */
function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, 'EACCES', 'ENAMETOOLONG', 'ELOOP', 'ENOTDIR')) return undefined;
    throw error;
  }
}
