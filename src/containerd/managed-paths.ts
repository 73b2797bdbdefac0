import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hasCode, UserError } from '../errors.ts';
import { needsRoot } from '../needs-root.ts';

/** Where a managed containerd keeps its things. */
export interface ManagedPaths {
  readonly base: string;
  readonly configFile: string;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  /** `unix://` and the socket. */
  readonly endpoint: string;
  readonly logFile: string;
  readonly pidFile: string;
  /** Folder of the lock that who starts containerd holds (`exclusively`). */
  readonly launchLock: string;
  readonly cniConfDir: string;
  readonly imagesFolder: string;
  readonly importedImagesFile: string;
}

/** Longest path that connect(2) and bind(2) take; sockaddr_un has 108 bytes with the NUL at the end. */
const maxSocketPathBytes = 107;

/** The layout below a root-dir. */
export function managedPaths(rootDir: string): ManagedPaths {
  const top = resolve(rootDir);
  const base = join(top, 'containerd');
  const socket = join(base, 'containerd.sock');
  return {
    base,
    configFile: join(base, 'config.toml'),
    root: join(base, 'root'),
    state: join(base, 'state'),
    socket,
    endpoint: `unix://${socket}`,
    logFile: join(base, 'containerd.log'),
    pidFile: join(base, 'containerd.pid'),
    launchLock: join(base, 'launch.lock'),
    cniConfDir: join(top, 'cni', 'net.d'),
    imagesFolder: join(top, 'images'),
    importedImagesFile: join(top, 'state', 'imported-images.json'),
  };
}

/** Refuses a root-dir below which containerd could not bind its sockets; the longest is `<socket>.ttrpc`. */
export function assertSocketsFit({ base, socket }: ManagedPaths): void {
  const bytes = Buffer.byteLength(`${socket}.ttrpc`);
  if (bytes <= maxSocketPathBytes) return;
  throw new UserError(
    `The path of containerd's socket below ${base} is too long: ${String(bytes)} bytes, and a socket may have ${String(maxSocketPathBytes)}`,
    { hint: 'Choose a shorter --root-dir.' },
  );
}

/** True when an earlier start made a managed containerd under this root-dir. Rejects with a `UserError` if it may not look. */
export async function hasManagedContainerd(rootDir: string): Promise<boolean> {
  const { configFile } = managedPaths(rootDir);
  try {
    await access(configFile);
    return true;
  } catch (error) {
    // What may not be seen may be there: another runtime would be the wrong one.
    if (hasCode(error, 'EACCES', 'EPERM')) throw needsRoot(configFile, error);
    return false;
  }
}
