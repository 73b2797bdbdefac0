import type { Pod } from '../../api/types.ts';
import { hasHostPortConflict } from './host-ports.ts';

/** A revision of a pod that is to follow the one that runs. */
export interface Replacement {
  /** Undefined: the revision that runs is of an earlier life, and is not counted. */
  current: Pod | undefined;
  next: Pod;
}

/**
 * The replacements that have to be made together with one, itself first: its pod wants host ports that their revisions have
 * which run, and so on. None of pods that exchange their ports could ever go first.
 */
export function portExchange(replacement: Replacement, pending: readonly Replacement[]): Replacement[] {
  const together = [replacement];
  for (const { next } of together) {
    const holders = pending.filter(({ current }) => current !== undefined && hasHostPortConflict(next, [current]));
    const known = new Set(together.map((other) => other.next));
    together.push(...holders.filter((holder) => !known.has(holder.next)));
  }
  return together;
}
