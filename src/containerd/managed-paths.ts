import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hasCode, UserError } from '../errors.ts';
import { maxSocketPathBytes } from '../files/max-socket-path-bytes.ts';
import { needsRoot } from '../process/needs-root.ts';

/** The paths of a managed containerd. */
export interface ManagedPaths {
  readonly base: string;
  readonly configFile: string;
  /** Folder of the user's additions to the configuration. */
  readonly dropIns: string;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  /** `unix://` plus the path of the socket. */
  readonly endpoint: string;
  readonly logFile: string;
  readonly pidFile: string;
  /** Folder of the lock for starting containerd (`withFileLock`). */
  readonly launchLock: string;
  /** Folder of the lock for filling a new store. */
  readonly repairLock: string;
  /** Registry settings, such as mirrors and certificates, with one folder per registry. */
  readonly registryHosts: string;
  readonly cniConfDir: string;
  readonly imagesFolder: string;
  readonly importedImagesFile: string;
}

/** The layout below a root-dir. */
export function managedPaths(rootDir: string): ManagedPaths {
  const top = resolve(rootDir);
  const base = join(top, 'containerd');
  const socket = join(base, 'containerd.sock');
  return {
    base,
    configFile: join(base, 'config.toml'),
    dropIns: join(base, 'conf.d'),
    root: join(base, 'root'),
    state: join(base, 'state'),
    socket,
    endpoint: `unix://${socket}`,
    logFile: join(base, 'containerd.log'),
    pidFile: join(base, 'containerd.pid'),
    launchLock: join(base, 'launch.lock'),
    repairLock: join(base, 'repair.lock'),
    registryHosts: join(base, 'certs.d'),
    cniConfDir: join(top, 'cni', 'net.d'),
    imagesFolder: join(top, 'images'),
    importedImagesFile: join(top, 'state', 'imported-images.json'),
  };
}

/**
 * Throws a `UserError` if containerd could not bind its sockets below the root-dir. The longest path is
 * `<socket>.ttrpc`.
 */
export function assertSocketsFit({ base, socket }: ManagedPaths): void {
  const bytes = Buffer.byteLength(`${socket}.ttrpc`);
  if (bytes <= maxSocketPathBytes) return;
  throw new UserError(
    `The path of containerd's socket below ${base} is too long: ${String(bytes)} bytes, and a socket may have ${String(maxSocketPathBytes)}`,
    { hint: 'Choose a shorter --root-dir.' },
  );
}

/**
 * True if an earlier run created a managed containerd under this root-dir. Rejects with a `UserError` if we may not
 * read it.
 */
export async function hasManagedContainerd(rootDir: string): Promise<boolean> {
  const { configFile } = managedPaths(rootDir);
  try {
    await access(configFile);
    return true;
  } catch (error) {
    // It may exist nevertheless, and another runtime would be the wrong one.
    if (hasCode(error, 'EACCES', 'EPERM')) throw needsRoot(configFile, error);
    return false;
  }
}
