import { join } from 'node:path';
import type { Volume } from '../../api/types.ts';
import { hasCode, UserError } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { isMountPoint, mountFileSystem } from '../host/mounts.ts';
import { pathExists } from '../../files/path-exists.ts';
import type { VolumeMounter, VolumeRequest } from './volume-mounter.ts';

type NFSSource = NonNullable<Volume['nfs']>;

/** Folders where `mount` searches for its helpers. */
const helperFolders = ['/sbin', '/sbin/fs.d', '/sbin/fs', '/usr/sbin'];

/** A share of an NFS server. kubelet: pkg/volume/nfs/nfs.go */
export function nfsVolume(source: NFSSource, { podDir, volume, signal }: VolumeRequest): VolumeMounter {
  const path = nfsPath(podDir, volume.name);
  return {
    mount: { hostPath: path, readOnly: source.readOnly === true, managed: false },
    setUp: () => mountNFS(path, { source, mountOptions: [], signal }),
    hasContent: () => isMountPoint(path),
  };
}

/** Folder of a pod's mounted shares. */
export const nfsFolder = (podDir: string): string => join(podDir, 'volumes', 'kubernetes.io~nfs');
export const nfsPath = (podDir: string, name: string): string => join(nfsFolder(podDir), name);

interface Share {
  source: NFSSource;
  mountOptions: readonly string[];
  /** Cancels the mount. */
  signal?: AbortSignal | undefined;
}

/**
 * Mounts the share on the path unless it is mounted. Rejects with a `UserError` if the machine cannot mount shares, or
 * if the server refuses or does not answer.
 */
export async function mountNFS(
  path: string,
  { source, mountOptions, signal }: Share,
  folders = helperFolders,
): Promise<void> {
  if (await isMountPoint(path)) return;
  if (!(await hasHelper(folders))) {
    throw new UserError('this machine cannot mount NFS shares: the program mount.nfs is missing', {
      hint: 'Install nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, Alpine).',
    });
  }
  await makeFolder(path, 0o750);
  const server = source.server.includes(':') ? `[${source.server}]` : source.server;
  const options = [...(source.readOnly === true ? ['ro'] : []), ...mountOptions];
  await mountFileSystem({ type: 'nfs', source: `${server}:${source.path}`, target: path, options, signal });
}

async function hasHelper(folders: readonly string[]): Promise<boolean> {
  const found = folders.map((folder) =>
    pathExists(join(folder, 'mount.nfs')).catch((error: unknown) => hasCode(error, 'EACCES')),
  );
  return (await Promise.all(found)).includes(true);
}
