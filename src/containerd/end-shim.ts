import { readdir, readFile, readlink, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ifPresent } from '../files/if-present.ts';
import { pathExists } from '../files/path-exists.ts';
import { isRunning, listPIDs, readStat, signalProcess, type ProcessIdentity } from '../process/process-identity.ts';
import type { ContainerdShim } from './containerd-shims.ts';
import { criNamespace } from './cri-namespace.ts';
import type { ManagedPaths } from './managed-paths.ts';

/** Folder of the shims' bundles, below containerd's state folder, and of their work folders, below its root folder. */
export const bundles = join('io.containerd.runtime.v2.task', criNamespace);
/** Matches only a hash: the process that bound a socket chose its path, which must not lead out of the folder. */
const shimSocketPath = /^\/run\/containerd\/s\/[\da-f]+$/;
const deleteTimeoutMs = 10_000;

/**
 * Kills a shim that its containerd does not list, with all its child processes, and removes its files. Removes nothing
 * outside our own folders, except the shim's socket.
 */
export async function endShim(
  shim: ContainerdShim,
  paths: Pick<ManagedPaths, 'state' | 'root' | 'socket'>,
): Promise<void> {
  const bundle = join(paths.state, bundles, shim.id);
  const sockets = await socketsOf(shim.process);
  if (await pathExists(bundle).catch(() => false)) await deleteContainer(shim, bundle, paths.socket);
  // Kills what is left: a container that was still being created, or one without a bundle.
  for (const process of await descendantsOf(shim.process)) await signalProcess(process, 'SIGKILL');
  await signalProcess(shim.process, 'SIGKILL');
  for (const socket of sockets) await rm(socket, { force: true });
  await removeBundle(bundle);
  await rm(join(paths.root, bundles, shim.id), { recursive: true, force: true });
}

/** Does what containerd does when a shim dies: kills and deletes the container and unmounts its root. */
async function deleteContainer({ program, id }: ContainerdShim, bundle: string, socket: string): Promise<void> {
  const args = ['-namespace', criNamespace, '-address', socket, '-id', id, '-bundle', bundle, 'delete'];
  await execa(program, args, {
    cwd: bundle,
    env: { TTRPC_ADDRESS: `${socket}.ttrpc` },
    // The shim would read options from stdin.
    stdin: 'ignore',
    timeout: deleteTimeoutMs,
    reject: false,
  });
}

async function removeBundle(bundle: string): Promise<void> {
  const rootfs = join(bundle, 'rootfs');
  await execa('umount', ['-l', rootfs], { reject: false, timeout: deleteTimeoutMs });
  // Fails while something is mounted there, because the content of the mount must not be deleted.
  await ifPresent(rmdir(rootfs));
  await rm(bundle, { recursive: true, force: true });
}

/**
 * Returns all descendants of a process, parents before their children. Returns [] if it has exited, even if its PID is
 * reused.
 */
async function descendantsOf(ancestor: ProcessIdentity): Promise<ProcessIdentity[]> {
  const running = await Promise.all((await listPIDs()).map(async (pid) => ({ pid, ...(await readStat(pid)) })));
  if (!running.some(({ pid, startTicks }) => pid === ancestor.pid && startTicks === ancestor.startTicks)) return [];
  const family = [ancestor];
  for (const { pid } of family) {
    for (const { pid: child, parent, startTicks } of running) {
      if (parent === pid && startTicks !== undefined) family.push({ pid: child, startTicks });
    }
  }
  return family.slice(1);
}

/**
 * Returns the paths of the shim sockets that a process has open. Returns [] if it has exited, even if its PID is
 * reused.
 */
async function socketsOf(process: ProcessIdentity): Promise<string[]> {
  const folder = `/proc/${String(process.pid)}`;
  const descriptors = await readdir(`${folder}/fd`).catch(() => []);
  const targets = await Promise.all(descriptors.map((name) => readlink(`${folder}/fd/${name}`).catch(() => '')));
  const inodes = new Set(targets.map((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1]));
  const lines = (await readFile(`${folder}/net/unix`, 'utf8').catch(() => '')).split('\n');
  // Checked last: if the process still runs, everything above belongs to it.
  if (!(await isRunning(process))) return [];
  const rows = lines.map((line) => line.trim().split(/\s+/));
  return rows
    .filter((row) => inodes.has(row[6]))
    .flatMap((row) => row[7] ?? [])
    .filter((path) => shimSocketPath.test(path));
}
