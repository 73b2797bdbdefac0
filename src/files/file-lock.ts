/**
 * A lock that is freed when its holder dies, like the kernel's file locks, which Node cannot use.
 *
 * INVARIANTS:
 * - The lock is a link with a number. It is held while the process that the link names is running.
 * - To acquire the lock, a process adds the number after the highest one and then reads all numbers. It does not hold
 *   the lock if it sees a higher number, or a lower one that names a running process. If two processes add numbers, one
 *   of them sees the other's.
 * - The holder removes the lower numbers. On release, its own link stays and is marked as free, or is removed if it
 *   cannot be marked. Then the numbers start over, so a lower number may be newer.
 */
import { readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { hasCode, UserError } from '../errors.ts';
import { identify, isRunning, isStopped, type ProcessIdentity } from '../process/process-identity.ts';
import { makeFolder } from './make-folder.ts';

/**
 * Milliseconds between the first two attempts, doubled after each. The kernel does not report when other processes
 * exit, and most locks are held for milliseconds.
 */
const firstPollMs = 5;
const maxPollMs = 250;
/** Milliseconds to wait for a holder that is stopped, such as by SIGSTOP. */
const patienceMs = 1500;
const free = 'free';

/**
 * Runs `work` while no other process holds the lock in this folder. Callers within one process queue for it. Rejects
 * with a `UserError` if a stopped process holds the lock, and with the signal's reason if it is aborted first.
 */
export async function withFileLock<T>(
  folder: string,
  clock: Clock,
  work: () => Promise<T>,
  options: { signal?: AbortSignal } = {},
): Promise<T> {
  await makeFolder(folder, 0o700);
  const self = await holderText(process.pid);
  const since = clock.monotonic();
  for (let pollMs = firstPollMs; ; pollMs = Math.min(2 * pollMs, maxPollMs)) {
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
    // A full disk may have no inode left. The old link would name this process and keep all others waiting.
    await rm(link, { force: true }).catch(() => undefined);
  }
}

/** Creates a link that names this process. Atomically replaces an earlier one. */
export async function recordHolder(link: string): Promise<void> {
  const unnamed = `${link}.${process.pid}`;
  await rm(unnamed, { force: true });
  await symlink(await holderText(process.pid), unnamed);
  await rename(unnamed, link);
}

/** Returns the content of a link that names a process. */
export async function holderText(pid: number): Promise<string> {
  return `${String(pid)} ${(await identify(pid))?.startTicks ?? ''}`;
}

/** Returns the process that a link names. */
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

/** Another process holds the lock. `holder` is undefined if it has exited. */
interface Held {
  holder: ProcessIdentity | undefined;
}

/** Returns the link if we acquired the lock, else its holder. */
async function take(folder: string, self: string): Promise<string | Held> {
  const linkOf = (number: number): string => join(folder, String(number));
  const highest = Math.max(0, ...(await numbersIn(folder)));
  const held = highest === 0 ? undefined : await heldBy(linkOf(highest));
  if (held !== undefined) return held;
  const link = linkOf(highest + 1);
  try {
    await symlink(self, link);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return { holder: undefined };
    throw error;
  }
  const others = (await numbersIn(folder)).filter((number) => number !== highest + 1);
  const other = others.some((number) => number > highest) ? { holder: undefined } : await anyHeldBy(others.map(linkOf));
  if (other !== undefined) {
    await rm(link, { force: true });
    return other;
  }
  await Promise.all(others.map((number) => rm(linkOf(number), { force: true })));
  return link;
}

async function anyHeldBy(links: readonly string[]): Promise<Held | undefined> {
  const holders = await Promise.all(links.map(heldBy));
  return holders.find((held) => held !== undefined);
}

async function numbersIn(folder: string): Promise<number[]> {
  // Ignores longer numbers, which we never reach and which are too large to increment exactly.
  return (await readdir(folder)).filter((name) => /^\d{1,15}$/.test(name)).map(Number);
}

/**
 * Returns the holder that a link names. If the link was removed, another process was faster. Returns undefined if the
 * lock is free, which includes a name that is not a link: in a copy of the folder, links may have become files.
 */
async function heldBy(link: string): Promise<Held | undefined> {
  const text = await readlink(link).catch((error: unknown) => (hasCode(error, 'EINVAL') ? free : undefined));
  if (text === undefined) return { holder: undefined };
  if (text === free) return undefined;
  const holder = parseHolder(text);
  return (await isRunning(holder)) ? { holder } : undefined;
}
