import { randomInt } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, hasCode, UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { setAside } from '../../files/set-aside.ts';
import { ownerDigits } from './owner-mark.ts';

/** Identity of a root-dir among all that share a runtime. */
export interface RootOwner {
  /** 18 digits. Every sandbox of this root-dir carries them. */
  id: string;
  /** Last known path: absolute, without symbolic links. */
  rootDir: string;
  /** When sandboxes began to carry the id, in milliseconds since the epoch. */
  since: number;
}

interface Search {
  rootDir: string;
  now: number;
  /**
   * Finds the owner id of the sandboxes whose files are below this root-dir. Resolves with undefined if no sandbox has
   * one.
   */
  recover: (rootDir: string) => Promise<string | undefined>;
  /** Set by the agent. With it, a damaged file is logged and renamed. */
  logger?: Logger | undefined;
}

/**
 * Returns the owner of a root-dir, read from its file. A root-dir that was moved keeps its owner. A copy gets a new one
 * while its original exists. If the file is lost, the owner comes from the sandboxes in the runtime, or is new. Does
 * not write the file.
 */
export async function findRootOwner({ rootDir, now, recover, logger }: Search): Promise<RootOwner> {
  const here = await realpath(rootDir).catch(() => rootDir);
  const kept = await readRootOwner(here, logger);
  if (kept !== undefined) {
    if (kept.rootDir === here) return kept;
    const original = await readRootOwner(kept.rootDir);
    if (original?.id !== kept.id) return { ...kept, rootDir: here };
  }
  return { id: (kept === undefined ? await recover(here) : undefined) ?? randomID(), rootDir: here, since: now };
}

/** True if an agent of ours has used this folder as its root-dir. */
export async function isRootDir(folder: string): Promise<boolean> {
  return (await readRootOwner(folder)) !== undefined;
}

/** Writes the owner file. Resolves once it would survive a power cut. */
export async function keepRootOwner(owner: RootOwner): Promise<void> {
  await writeFileAtomic(ownerFile(owner.rootDir), `${JSON.stringify(owner)}\n`);
}

async function readRootOwner(rootDir: string, logger?: Logger): Promise<RootOwner | undefined> {
  const path = ownerFile(rootDir);
  try {
    const owner: unknown = JSON.parse((await readRegularFile(path, maxBytes)).toString());
    if (isRootOwner(owner)) return owner;
    throw new SyntaxError('it has no identity of a root-dir');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
    // A file of the wrong kind or size counts as damaged, like one with the wrong content.
    if (!(error instanceof SyntaxError || error instanceof UserError)) throw error;
    if (logger !== undefined) await setAside(path, errorMessage(error), logger);
    return undefined;
  }
}

function isRootOwner(value: unknown): value is RootOwner {
  if (typeof value !== 'object' || value === null) return false;
  const { id, rootDir, since } = value as Partial<Record<keyof RootOwner, unknown>>;
  return typeof id === 'string' && idPattern.test(id) && typeof rootDir === 'string' && typeof since === 'number';
}

/** More than an id and the longest path need. */
const maxBytes = 64 * 1024;
const ownerFile = (rootDir: string): string => join(rootDir, 'state', 'owner.json');
const idPattern = new RegExp(`^[0-9]{${ownerDigits}}$`);

function randomID(): string {
  const half = 10 ** (ownerDigits / 2);
  return [randomInt(half), randomInt(half)].map((part) => String(part).padStart(ownerDigits / 2, '0')).join('');
}
