import { type Dir, opendirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

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
  place: Place;
}

/** Where an open file is, as the kernel knows it without a question to the file system. */
interface Place {
  /** Number of the mount, the same in all mount namespaces. */
  mount: string;
  /** Device of the file system, as of mountinfo. Undefined for a mount outside the root of its process. */
  device: string | undefined;
}

/** O_PATH, which opens no device and reads nothing. Node does not name it. */
const pathOnly = 0o10000000;

/** Open files that are read before other work gets its turn, which takes some 3 ms. A process may have a million. */
const filesPerTurn = 512;
/** A process costs as much as this number of its files. */
const filesPerProcess = 16;
/** Entries of a folder that Node reads at a time. */
const bufferSize = 64;

/**
 * The processes that have one of these files open for writing, by path of the file. Reads /proc, because Node reports
 * no close of a file. That takes about 0.1 ms a process. Omits processes that we may not inspect, and those of other
 * machines.
 */
export async function findWriters(paths: readonly string[]): Promise<Map<string, Writer>> {
  const byName = new Map<string, Sought[]>();
  for (const file of await Promise.all(paths.map(seek))) {
    if (file !== undefined) byName.set(file.name, [...(byName.get(file.name) ?? []), file]);
  }
  const found = new Map<string, Writer>();
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  let read = 0;
  for (const pid of pids) {
    read += filesPerProcess;
    for (const fd of openFiles(pid)) {
      read += 1;
      if (read >= filesPerTurn) {
        read = 0;
        await nextTurn();
      }
      const name = basename(orUndefined(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? '');
      for (const file of byName.get(name) ?? []) {
        const writer = orUndefined(() => writerOf(file, pid, fd));
        if (writer !== undefined) found.set(file.path, writer);
      }
    }
  }
  return found;
}

/**
 * Numbers of the open files of a process. Synchronous, because the kernel answers from memory and promises cost more. A
 * process may end at any moment.
 */
function* openFiles(pid: string): Generator<string, void> {
  const folder = orUndefined(() => opendirSync(`/proc/${pid}/fd`, { bufferSize }));
  if (folder === undefined) return;
  try {
    for (let fd = nextOf(folder); fd !== undefined; fd = nextOf(folder)) yield fd;
  } finally {
    folder.closeSync();
  }
}

const nextOf = (folder: Dir): string | undefined => orUndefined(() => folder.readSync())?.name;

/** True if this process still has the file open for writing. */
export async function isStillWriting(path: string, { pid, fd }: Writer): Promise<boolean> {
  const file = await seek(path);
  return file !== undefined && orUndefined(() => writerOf(file, String(pid), fd)) !== undefined;
}

async function seek(path: string): Promise<Sought | undefined> {
  try {
    const real = await realpath(path);
    const file = await open(real, pathOnly);
    try {
      const { dev, ino } = await file.stat();
      return { path, name: basename(real), dev, ino, place: placeOf('self', fdinfoOf('self', file.fd)) };
    } finally {
      await file.close();
    }
  } catch {
    // A missing file has no writer.
    return undefined;
  }
}

function writerOf({ dev, ino, place }: Sought, pid: string, fd: string): Writer | undefined {
  const fdinfo = fdinfoOf(pid, fd);
  const flags = /^flags:\s*([0-7]+)/m.exec(fdinfo)?.[1] ?? '0';
  // O_WRONLY and O_RDWR are 1 and 2 on every architecture.
  if ((Number.parseInt(flags, 8) & 3) === 0) return undefined;
  // Another file system may hang, and `stat` would wait for it.
  if (!isSameFileSystem(placeOf(pid, fdinfo), place)) return undefined;
  const stats = statSync(`/proc/${pid}/fd/${fd}`);
  if (stats.dev !== dev || stats.ino !== ino) return undefined;
  const command = orUndefined(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()) ?? '';
  return { pid: Number(pid), fd, command };
}

const fdinfoOf = (pid: string, fd: string | number): string => readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');

function placeOf(pid: string, fdinfo: string): Place {
  const mount = /^mnt_id:\s*(\d+)/m.exec(fdinfo)?.[1] ?? '';
  const device = new RegExp(`^${mount} \\d+ (\\S+) `, 'm').exec(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))?.[1];
  return { mount, device };
}

const isSameFileSystem = (one: Place, other: Place): boolean =>
  one.mount === other.mount || (one.device !== undefined && one.device === other.device);

/** Returns undefined if `look` throws, because files in /proc vanish at any moment. */
function orUndefined<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
