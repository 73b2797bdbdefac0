import { once } from 'node:events';
import { realpath } from 'node:fs/promises';
import { release } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { boundedText } from '../../text/bounded-text.ts';
import { systemClock } from '../../clock.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { textLimits } from '../../text/text-limits.ts';
import { ifPresent } from '../../files/if-present.ts';
import { boundedOutput } from './bounded-program.ts';
import { type Mount, mountPointOf, readMounts } from './mount-points.ts';

/** True if something is mounted on exactly this path. */
export async function isMountPoint(path: string): Promise<boolean> {
  return (await mountPointsUnder(path)).includes(await asTheKernelNames(path));
}

/**
 * Mounts a tmpfs on `path` unless something is mounted there already. Without `sizeBytes` it has the kernel's default
 * size. Its content stays out of swap if the kernel supports that. kubelet: pkg/volume/emptydir/empty_dir.go setupTmpfs
 */
export async function mountTmpfs(path: string, sizeBytes: bigint | undefined): Promise<void> {
  if (await isMountPoint(path)) return;
  const size = sizeBytes === undefined ? [] : [`size=${sizeBytes.toString()}`];
  if (hasTmpfsNoswap(release())) {
    try {
      await mount('tmpfs', path, [...size, 'noswap']);
      return;
    } catch {
      // In a user namespace the kernel rejects this option.
    }
  }
  await mount('tmpfs', path, size);
}

/** Mounts huge pages of one size on `path` unless something is mounted there already. */
export async function mountHugePages(path: string, pageBytes: bigint): Promise<void> {
  if (!(await isMountPoint(path))) await mount('hugetlbfs', path, [`pagesize=${pageBytes}`]);
}

/**
 * Mounts the file or folder at `source` also on `target`, without the mounts below it. A source in /proc/<pid>/fd means
 * the open file itself, whatever its path.
 */
export async function bindMount(source: string, target: string): Promise<void> {
  await run('mount', '--no-canonicalize', '--bind', source, target);
}

/** How long a server may take to answer a mount. kubelet: the time limit of its mount operations, 2 min 3 s */
const mountTimeoutMs = 123_000;
/** More than `mount` ever prints. */
const maxMountOutputBytes = 64 * 1024;

interface MountRequest {
  type: string;
  source: string;
  target: string;
  options: readonly string[];
  /** Aborting it kills `mount`. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
}

/**
 * Mounts a file system. Rejects with a `UserError` that has the message of `mount`. If it takes too long, kills `mount`
 * and its helpers, and rejects.
 */
export async function mountFileSystem(request: MountRequest): Promise<void> {
  const { type, source, target, options, signal, timeoutMs = mountTimeoutMs } = request;
  const words = ['-t', type, ...(options.length === 0 ? [] : ['-o', options.join(',')]), '--', source, target];
  signal?.throwIfAborted();
  try {
    await boundedOutput('mount', words, {
      clock: systemClock,
      timeoutMs,
      maxOutputBytes: maxMountOutputBytes,
      tooLong: `it printed more than ${maxMountOutputBytes} bytes`,
      quotesErrors: true,
      ...(signal && { signal }),
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new UserError(boundedText(`mounting ${source}: ${errorMessage(error)}`, textLimits.message));
  }
}

/**
 * Makes mounts below `path` visible in other mount namespaces. If the mount above `path` is not shared, `path` becomes
 * a mount itself. kubelet: kubelet.go setupDataDirs, for the whole root-dir
 */
export async function shareMountsBelow(path: string): Promise<void> {
  const real = await asTheKernelNames(path);
  const mounts = await readMounts();
  const above = mountPointOf(
    real,
    mounts.map(({ mountPoint }) => mountPoint),
  );
  // If several mounts are on one path, only the last one is visible.
  if (mounts.findLast(({ mountPoint }) => mountPoint === above)?.isShared) return;
  if (above !== real) await run('mount', '--bind', real, real);
  await run('mount', '--make-shared', real);
}

/** How long writing data back and the answer of a server may take. kubelet: pkg/volume/nfs/nfs.go unMountTimeout */
const unmountTimeoutMs = 60_000;

/**
 * Unmounts everything at and below `path`, deepest first, and nothing elsewhere. Rejects if a mount is in use. If an
 * unmount takes longer than `timeoutMs`, the mount is detached by force, and data that its server did not accept are
 * lost.
 */
export async function unmountTree(path: string, timeoutMs = unmountTimeoutMs): Promise<void> {
  const mounts = await mountsUnder(path);
  for (const [index, { mountPoint, isShared }] of mounts.entries()) {
    // An unmount below a shared mount would also happen at the path that it was bound from.
    const hasOthers = mounts.slice(0, index).some((other) => isAtOrBelow(other.mountPoint, mountPoint));
    // The kernel may contact the server of this mount, so a mount without others below it is not touched.
    if (isShared && hasOthers) await run('mount', '--no-canonicalize', '--make-private', mountPoint);
  }
  for (const { mountPoint } of mounts) await unmount(mountPoint, timeoutMs);
}

async function unmount(mountPoint: string, timeoutMs: number): Promise<void> {
  // The option keeps `umount` from reading the path first, which a dead server would not answer.
  if (await endsWithin(timeoutMs, 'umount', ['--no-canonicalize', mountPoint])) return;
  const isMounted = async () => (await readMounts()).some((mount) => mount.mountPoint === mountPoint);
  // The kernel first detaches a mount and then writes its data back.
  if (!(await isMounted())) return;
  const byForce = ['--no-canonicalize', '--internal-only', '--force', '--lazy', mountPoint];
  if ((await endsWithin(timeoutMs, 'umount', byForce)) || !(await isMounted())) return;
  throw new Error(`unmounting ${mountPoint} took more than ${timeoutMs / 1000} s, by force as well`);
}

/** Returns the mount points at or below `path`, deepest first, as the kernel names them. */
export async function mountPointsUnder(path: string): Promise<string[]> {
  return (await mountsUnder(path)).map(({ mountPoint }) => mountPoint);
}

async function mountsUnder(path: string): Promise<Mount[]> {
  const real = await asTheKernelNames(path);
  const mounts = await readMounts();
  return mounts.filter(({ mountPoint }) => isAtOrBelow(mountPoint, real)).reverse();
}

const isAtOrBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** True if tmpfs has the option `noswap` in this kernel release: since Linux 6.4. */
export function hasTmpfsNoswap(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 4);
}

/**
 * Returns the real path of the parent folder plus the last name. Does not resolve a link at the end, because the link
 * itself will be deleted.
 */
async function asTheKernelNames(path: string): Promise<string> {
  const parent = await ifPresent(realpath(dirname(path)));
  return parent === undefined ? path : join(parent, basename(path));
}

function mount(type: string, path: string, options: readonly string[]): Promise<void> {
  return run('mount', '-t', type, ...(options.length === 0 ? [] : ['-o', options.join(',')]), type, path);
}

/** Loads execa on the first call, because most nodes never mount anything. */
async function run(program: string, ...args: string[]): Promise<void> {
  const { execa } = await import('execa');
  const { failed, stderr, shortMessage } = await execa(program, args, { reject: false });
  if (failed) throw new Error(stderr === '' ? shortMessage : stderr);
}

/**
 * Runs a program for at most this time. If it takes longer, kills it without waiting for its exit, because the kernel
 * may block that, and resolves with false. Rejects if it fails.
 */
async function endsWithin(timeoutMs: number, program: string, args: readonly string[]): Promise<boolean> {
  const { execa } = await import('execa');
  const cancelSignal = AbortSignal.timeout(timeoutMs);
  const timeIsOver = once(cancelSignal, 'abort').then(() => undefined);
  const child = execa(program, args, {
    reject: false,
    stdin: 'ignore',
    stdout: 'ignore',
    cancelSignal,
    killSignal: 'SIGKILL',
  });
  const result = await Promise.race([child, timeIsOver]);
  if (result === undefined || result.isCanceled) {
    child.unref();
    child.stderr.destroy();
    return false;
  }
  if (result.failed) throw new Error(result.stderr === '' ? result.shortMessage : result.stderr);
  return true;
}
