import { type Dir, opendirSync, readFileSync, readlink, readlinkSync, statSync } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, systemClock } from '../../clock.ts';
import { isOutOfResources, toError } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { O_PATH } from '../../files/regular-file.ts';

/** A process that has a file open for writing. */
export interface Writer {
  pid: number;
  /** Number of the open file in that process. */
  fd: string;
  /** Name of its program. */
  command: string;
}

/** A file, identified by device and inode. */
interface Sought {
  path: string;
  name: string;
  dev: number;
  ino: number;
  /** Number of its mount. No other mount has it at the same time, in any namespace. */
  mount: string;
  /** Mounts as this process sees them. */
  mounts: Mounts;
}

/** Open files that are read before other work gets its turn. A process may have a million. */
const filesPerTurn = 512;
/** A process costs as much as this number of its files. */
const filesPerProcess = 16;
/** Each one may hold a thread of Node. There are four. */
const looksAtATime = 2;
/** Limit on the wait for a process that begins a program, in milliseconds. */
const restWithinMs = 1000;
/** Entries of a folder that Node reads at a time. */
const bufferSize = 64;

/**
 * The processes that have one of these files open for writing, by path of the file. Reads /proc, because Node reports
 * no close of a file. That takes about 0.1 ms a process. Omits processes that we may not inspect, and those of other
 * machines. Rejects if this process has no descriptor or memory left to look.
 */
export async function findWriters(paths: readonly string[], how: Looking = {}): Promise<Map<string, Writer>> {
  const byName = await seekAll(paths);
  const found = new Map<string, Writer>();
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  let read = 0;
  for await (const pid of processesAtRest(pids, how)) {
    read += filesPerProcess;
    const mounts = new Mounts(pid);
    for (const fd of openFiles(pid)) {
      read += 1;
      if (read >= filesPerTurn) {
        read = 0;
        await nextTurn();
      }
      const name = basename(unlessGone(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? '');
      const sought = (byName.get(name) ?? []).filter(({ path }) => !found.has(path));
      const written = writtenAt({ pid, fd, mounts }, sought);
      for (const { path } of written) found.set(path, { pid: Number(pid), fd, command: commandOf(pid) });
    }
  }
  return found;
}

/** True if this process still has the file open for writing. Rejects like `findWriters`. */
export async function isStillWriting(path: string, { pid, fd }: Writer): Promise<boolean> {
  const file = await seek(path, new Mounts('self'));
  if (file === undefined || !(await isAtRest(String(pid)))) return false;
  return writtenAt({ pid: String(pid), fd, mounts: new Mounts(String(pid)) }, [file]).length > 0;
}

/** Files by their real name. Looks at one after the other, because there may be more than descriptors. */
async function seekAll(paths: readonly string[]): Promise<Map<string, Sought[]>> {
  const byName = new Map<string, Sought[]>();
  const mounts = new Mounts('self');
  for (const path of paths) {
    const file = await seek(path, mounts);
    if (file !== undefined) byName.set(file.name, [...(byName.get(file.name) ?? []), file]);
  }
  return byName;
}

/** Resolves with undefined if the file is missing: it has no writer. */
async function seek(path: string, mounts: Mounts): Promise<Sought | undefined> {
  const real = await ifPresent(realpath(path), 'ENOTDIR');
  const file = real === undefined ? undefined : await ifPresent(open(real, O_PATH), 'ENOTDIR');
  if (real === undefined || file === undefined) return undefined;
  try {
    const { dev, ino } = await file.stat();
    return { path, name: basename(real), dev, ino, mount: mountOf(fdinfoOf('self', file.fd)), mounts };
  } finally {
    await file.close();
  }
}

interface Looking {
  /** Looks at a process as at its open files. Defaults to its program. */
  look?: (pid: string, done: (error: unknown) => void) => void;
  clock?: Pick<Clock, 'after'>;
}

const readProgram: NonNullable<Looking['look']> = (pid, done) => {
  readlink(`/proc/${pid}/exe`, done);
};

async function* processesAtRest(pids: readonly string[], how: Looking): AsyncGenerator<string, void> {
  for (let at = 0; at < pids.length; at += looksAtATime) {
    const some = pids.slice(at, at + looksAtATime);
    const areAtRest = await Promise.all(some.map((pid) => isAtRest(pid, how)));
    yield* some.filter((_, index) => areAtRest[index]);
  }
}

/**
 * Waits while a process begins a program: the kernel lets nobody look at its open files meanwhile. On a busy
 * machine that took a second, in which this thread would stand still. Resolves to false for a process that takes
 * longer, that we may not inspect, or without a program, such as a thread of the kernel. Rejects if no memory is left.
 */
function isAtRest(pid: string, { look = readProgram, clock = systemClock }: Looking = {}): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(restWithinMs, () => {
      resolve(false);
    });
    look(pid, (error) => {
      cancel();
      if (isOutOfResources(error)) reject(toError(error));
      else resolve(error === null);
    });
  });
}

/**
 * Numbers of the open files of a process. Synchronous, because the kernel answers from memory and promises cost more. A
 * process may end at any moment.
 */
function* openFiles(pid: string): Generator<string, void> {
  const folder = unlessGone(() => opendirSync(`/proc/${pid}/fd`, { bufferSize }));
  if (folder === undefined) return;
  try {
    for (let fd = nextOf(folder); fd !== undefined; fd = nextOf(folder)) yield fd;
  } finally {
    folder.closeSync();
  }
}

const nextOf = (folder: Dir): string | undefined => unlessGone(() => folder.readSync())?.name;

/** An open file of a process. */
interface OpenFile {
  pid: string;
  fd: string;
  mounts: Mounts;
}

/** Those of the files that this open file writes to. */
function writtenAt({ pid, fd, mounts }: OpenFile, files: readonly Sought[]): Sought[] {
  const fdinfo = files.length === 0 ? undefined : unlessGone(() => fdinfoOf(pid, fd));
  if (fdinfo === undefined || !isForWriting(fdinfo)) return [];
  const mount = mountOf(fdinfo);
  // Another file system may hang, and `stat` would wait for it.
  const near = files.filter((file) => mount === file.mount || isSameDevice(mounts.deviceOf(mount), file));
  const stats = near.length === 0 ? undefined : unlessGone(() => statSync(`/proc/${pid}/fd/${fd}`));
  return near.filter(({ dev, ino }) => stats?.dev === dev && stats.ino === ino);
}

const isSameDevice = (device: string | undefined, { mount, mounts }: Sought): boolean =>
  device !== undefined && device === mounts.deviceOf(mount);

/** What the kernel knows of an open file, without a question to the file system. */
const fdinfoOf = (pid: string, fd: string | number): string => readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');

const mountOf = (fdinfo: string): string => /^mnt_id:\s*(\d+)/m.exec(fdinfo)?.[1] ?? '';

/** O_WRONLY and O_RDWR are 1 and 2 on every architecture. */
const isForWriting = (fdinfo: string): boolean =>
  (Number.parseInt(/^flags:\s*([0-7]+)/m.exec(fdinfo)?.[1] ?? '0', 8) & 3) !== 0;

const commandOf = (pid: string): string => unlessGone(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()) ?? '';

/** Mounts as a process sees them. Read once, and only if they are needed, because there may be thousands. */
class Mounts {
  private devices: ReadonlyMap<string, string> | undefined;

  constructor(private readonly pid: string) {}

  /** The device of the file system of a mount. Undefined for a mount outside the root of the process. */
  deviceOf(mount: string): string | undefined {
    this.devices ??= new Map(this.lines().map(([number = '', , device = '']) => [number, device]));
    return this.devices.get(mount);
  }

  private lines(): string[][] {
    const mountInfo = unlessGone(() => readFileSync(`/proc/${this.pid}/mountinfo`, 'utf8')) ?? '';
    return mountInfo.split('\n').map((line) => line.split(' ', 3));
  }
}

/** Undefined if the process has ended or closed the file, or we may not inspect it. */
function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isOutOfResources(error)) throw error;
    return undefined;
  }
}
