/**
 * A lock that the death of its holder frees, like the kernel's file locks, which Node cannot take.
 *
 * INVARIANTS:
 * - The link with the highest number in the folder is the lock. It is held while the process that it names runs.
 * - The highest link stays, unless its holder cannot mark it as free. A process that takes the lock adds the next
 * number, then removes the lower ones. A process that adds an outdated number sees a higher one and does not hold the
 * lock.
 */
import { readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from './clock.ts';
import { hasCode, UserError } from './errors.ts';
import { identify, isRunning, isStopped, type ProcessIdentity } from './process-identity.ts';
import { makeFolder } from './make-folder.ts';

/**
 * Milliseconds between two attempts. The kernel does not report the end of other processes, and locks are held for
 * milliseconds.
 */
const pollMs = 5;
/** Milliseconds to wait for a stopped holder. */
const patienceMs = 1500;
const free = 'free';

/**
 * Runs `work` exclusively for a folder, across all processes. Rejects with a `UserError` if a stopped process holds the
 * lock, and with the signal's reason if it is aborted first.
 */
export async function exclusively<T>(
  folder: string,
  clock: Clock,
  work: () => Promise<T>,
  options: { signal?: AbortSignal } = {},
): Promise<T> {
  await makeFolder(folder, 0o700);
  const self = await holderText(process.pid);
  const since = clock.monotonic();
  for (;;) {
    const link = await take(folder, self);
    if (typeof link === 'string') {
      try {
        return await work();
      } finally {
        await release(link);
      }
    }
    if (clock.monotonic() - since >= patienceMs) await refuseStopped(link.holder, folder);
    await clock.sleep(pollMs, options);
  }
}

/** Frees the lock. Never rejects, because the work is done. */
async function release(link: string): Promise<void> {
  const made = `${link}.${free}`;
  try {
    await rm(made, { force: true });
    await symlink(free, made);
    await rename(made, link);
  } catch {
    // A full disk may have no inode left. The link would name this process, and keep all others waiting.
    await rm(link, { force: true }).catch(() => undefined);
  }
}

/** Makes a link that names this process. Replaces an earlier one atomically. */
export async function noteHolder(link: string): Promise<void> {
  const unnamed = `${link}.${process.pid}`;
  await rm(unnamed, { force: true });
  await symlink(await holderText(process.pid), unnamed);
  await rename(unnamed, link);
}

/** The text of a link that names a process. */
export async function holderText(pid: number): Promise<string> {
  return `${String(pid)} ${(await identify(pid))?.startTicks ?? ''}`;
}

/** The process that a link names. */
export function parseHolder(text: string): ProcessIdentity {
  const [pid, startTicks = ''] = text.split(' ');
  return { pid: Number(pid), startTicks };
}

async function refuseStopped(holder: ProcessIdentity | undefined, folder: string): Promise<void> {
  if (holder === undefined || !(await isStopped(holder))) return;
  throw new UserError(`kubelet-ts (pid ${holder.pid}, stopped) holds the lock ${folder}`, {
    hint: `Continue it: kill -CONT ${holder.pid}. Or end it: kill -KILL ${holder.pid}.`,
  });
}

/** Another process holds the lock. `holder` is undefined if it has ended. */
interface Held {
  holder: ProcessIdentity | undefined;
}

/** Returns the link if we took the lock, else its holder. */
async function take(folder: string, self: string): Promise<string | Held> {
  const highest = Math.max(0, ...(await numbersIn(folder)));
  const held = highest === 0 ? undefined : await heldBy(join(folder, String(highest)));
  if (held !== undefined) return held;
  const link = join(folder, String(highest + 1));
  try {
    await symlink(self, link);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return { holder: undefined };
    throw error;
  }
  const numbers = await numbersIn(folder);
  if (numbers.some((number) => number > highest + 1)) {
    await rm(link, { force: true });
    return { holder: undefined };
  }
  await Promise.all(
    numbers.filter((number) => number <= highest).map((number) => rm(join(folder, String(number)), { force: true })),
  );
  return link;
}

async function numbersIn(folder: string): Promise<number[]> {
  // Ignores longer numbers, which we never reach and cannot count on from.
  return (await readdir(folder)).filter((name) => /^\d{1,15}$/.test(name)).map(Number);
}

/**
 * The holder that a link names. If the link is gone, another process was faster. Returns undefined if the lock is free,
 * also if the name is not a link: a copy of the folder has files in their place.
 */
async function heldBy(link: string): Promise<Held | undefined> {
  const text = await readlink(link).catch((error: unknown) => (hasCode(error, 'EINVAL') ? free : undefined));
  if (text === undefined) return { holder: undefined };
  if (text === free) return undefined;
  const holder = parseHolder(text);
  return (await isRunning(holder)) ? { holder } : undefined;
}
