/**
 * A lock that the death of its holder sets free, as the kernel's locks on files do, which Node cannot take.
 *
 * INVARIANTS:
 * - The link with the highest number in the folder is the lock. It is held while the process that it names runs.
 * - The highest link stays. Who takes the lock adds the next number and then removes the lower ones. Who adds a number
 *   that others have passed meanwhile sees a higher one, and has nothing.
 */
import { mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from './clock.ts';
import { hasCode } from './errors.ts';
import { identify, isRunning } from './process-identity.ts';

/** Nobody tells of the end of a process that is not our child; locks are held for milliseconds. */
const pollMs = 5;
const free = 'free';

/** Does `work` while nobody else does any for the same folder, be it in this process or in another. */
export async function exclusively<T>(folder: string, clock: Clock, work: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const self = await identify(process.pid);
  const holder = `${String(process.pid)} ${self?.startTicks ?? ''}`;
  for (;;) {
    const link = await take(folder, holder);
    if (link !== undefined) {
      try {
        return await work();
      } finally {
        await symlink(free, `${link}.${free}`);
        await rename(`${link}.${free}`, link);
      }
    }
    await clock.sleep(pollMs);
  }
}

/** The link that is ours now; undefined while somebody else has the lock. */
async function take(folder: string, holder: string): Promise<string | undefined> {
  const highest = Math.max(0, ...(await numbersIn(folder)));
  if (highest > 0 && (await isHeld(join(folder, String(highest))))) return undefined;
  const link = join(folder, String(highest + 1));
  try {
    await symlink(holder, link);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return undefined;
    throw error;
  }
  const numbers = await numbersIn(folder);
  if (numbers.some((number) => number > highest + 1)) {
    await rm(link, { force: true });
    return undefined;
  }
  await Promise.all(
    numbers.filter((number) => number <= highest).map((number) => rm(join(folder, String(number)), { force: true })),
  );
  return link;
}

async function numbersIn(folder: string): Promise<number[]> {
  return (await readdir(folder)).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** A link that went away was passed by: then too somebody else was faster. */
async function isHeld(link: string): Promise<boolean> {
  const holder = await readlink(link).catch(() => undefined);
  if (holder === undefined) return true;
  if (holder === free) return false;
  const [pid, startTicks = ''] = holder.split(' ');
  return isRunning({ pid: Number(pid), startTicks });
}
