import { randomInt } from 'node:crypto';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { writeFileAtomic } from '../../write-file-atomic.ts';
import { ownerDigits } from './owner-mark.ts';

/** Who a root-dir is among all that share a runtime. */
export interface RootOwner {
  /** 18 digits; part of every sandbox that is made for it. */
  id: string;
  /** Where it was last. Absolute, without symbolic links. */
  rootDir: string;
  /** Since when its sandboxes carry the id; milliseconds since the epoch. */
  since: number;
}

interface Search {
  rootDir: string;
  now: number;
  /** The owner of sandboxes whose files are below this root-dir; undefined when there are none. */
  recover: (rootDir: string) => Promise<string | undefined>;
}

/**
 * The owner of a root-dir, from its file. One that was moved stays who it is. A copy beside its original, and one whose file
 * is lost, is somebody else, unless sandboxes in the runtime show who it was. Nothing is written.
 */
export async function findRootOwner({ rootDir, now, recover }: Search): Promise<RootOwner> {
  const here = await realpath(rootDir).catch(() => rootDir);
  const kept = await readRootOwner(here);
  if (kept !== undefined) {
    if (kept.rootDir === here) return kept;
    const original = await readRootOwner(kept.rootDir);
    if (original?.id !== kept.id) return { ...kept, rootDir: here };
  }
  return { id: (kept === undefined ? await recover(here) : undefined) ?? randomID(), rootDir: here, since: now };
}

/** Resolves when the owner outlives a power cut. */
export async function keepRootOwner(owner: RootOwner): Promise<void> {
  await writeFileAtomic(ownerFile(owner.rootDir), `${JSON.stringify(owner)}\n`);
}

async function readRootOwner(rootDir: string): Promise<RootOwner | undefined> {
  try {
    const owner: unknown = JSON.parse(await readFile(ownerFile(rootDir), 'utf8'));
    return isRootOwner(owner) ? owner : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
    throw error;
  }
}

function isRootOwner(value: unknown): value is RootOwner {
  if (typeof value !== 'object' || value === null) return false;
  const { id, rootDir, since } = value as Partial<Record<keyof RootOwner, unknown>>;
  return typeof id === 'string' && idPattern.test(id) && typeof rootDir === 'string' && typeof since === 'number';
}

const ownerFile = (rootDir: string): string => join(rootDir, 'state', 'owner.json');
const idPattern = new RegExp(`^[0-9]{${ownerDigits}}$`);

function randomID(): string {
  const half = 10 ** (ownerDigits / 2);
  return [randomInt(half), randomInt(half)].map((part) => String(part).padStart(ownerDigits / 2, '0')).join('');
}
