import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { syncFolder } from '../../files/write-file-atomic.ts';

/**
 * The files next to a program that can be upgraded. The guard counts its starts in the name of the mark, because a
 * rename is atomic and needs no space: pending-3 has three starts left.
 */
export const programFiles = (program: string) => ({
  /** The new program until it replaces the old one. */
  next: `${program}.next`,
  previous: `${program}.previous`,
  guard: `${program}.guard`,
  pending: (startsLeft: number) => `${program}.pending-${startsLeft}`,
  restored: `${program}.restored`,
});

/** How many starts a new program has to become healthy. */
export const trialStarts = 3;

/** An upgrade whose new program has not become healthy yet, or that the guard has undone. */
export interface UpgradeState {
  kind: 'pending' | 'restored';
  from: string;
  to: string;
}

/** In the order in which the guard renames the mark, so that nobody who goes through them misses it. */
const allMarks = (program: string): string[] => {
  const files = programFiles(program);
  const pending = Array.from({ length: trialStarts + 1 }, (_, starts) => files.pending(trialStarts - starts));
  return [...pending, files.restored];
};

/** Returns undefined if no upgrade of this program is pending or was undone. Rejects with a file system error. */
export async function readUpgradeState(program: string): Promise<UpgradeState | undefined> {
  const { restored } = programFiles(program);
  for (const path of allMarks(program)) {
    const bytes = await ifPresent(readRegularFile(path, maxMarkBytes));
    if (bytes === undefined) continue;
    const [, from = 'an earlier release', to = 'another release'] = /^(\S+) (\S+)\n$/.exec(bytes.toString()) ?? [];
    return { kind: path === restored ? 'restored' : 'pending', from, to };
  }
  return undefined;
}

/** Two versions are much shorter. */
const maxMarkBytes = 1024;

/** Removes what `readUpgradeState` reports, except for one mark if given. Rejects with a file system error. */
export async function clearUpgradeState(program: string, kept?: string): Promise<void> {
  for (const path of allMarks(program)) if (path !== kept) await rm(path, { force: true });
  await syncFolder(dirname(program));
}

/** The content of a mark. Versions have no spaces. */
export const markText = (from: string, to: string): string => `${from} ${to}\n`;
