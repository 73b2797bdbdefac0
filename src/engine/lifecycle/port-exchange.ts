import type { Pod } from '../../api/types.ts';
import { hasHostPortConflict } from './host-ports.ts';

/** A running revision and its next revision. */
export interface Replacement {
  /** Undefined if the running revision is from an earlier agent and not counted. */
  current: Pod | undefined;
  next: Pod;
}

/**
 * The replacements that must happen together, this one first: its pod needs host ports of other running revisions,
 * whose next revisions need other ports, and so on.
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
