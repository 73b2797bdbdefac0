import type { EphemeralContainer } from '../../api/types.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/** An ephemeral container that was added to a pod. */
export interface EphemeralEntry {
  container: EphemeralContainer;
  /** True if it is removed once it has ended. */
  removesAtEnd?: true;
  /** True if its removal was asked for, and it may still be in the runtime. */
  isRemoved?: true;
  /** True once it was seen started. Then it never starts again, even if the runtime loses it. */
  hasStarted?: true;
}

/** The next list of a pod, and the work that it needs. */
export interface SettledEntries {
  /** The same list if nothing changed. */
  entries: readonly EphemeralEntry[];
  /** Names of those to end and to remove from the runtime. */
  removals: string[];
  /** Milliseconds until a container that has ended is removed. Undefined if none waits for that. */
  dueInMs?: number;
}

/** How long the log of a container stays that is removed at its end, so that a short one can be read. */
const keptAfterEndMs = 10_000;

/** Compares the ephemeral containers of a pod with the runtime, before a sync. `now`: milliseconds since the epoch. */
export function settleEntries(
  entries: readonly EphemeralEntry[],
  podStatus: RuntimePodStatus,
  now: number,
): SettledEntries {
  const removals: string[] = [];
  const waits: number[] = [];
  const settled = entries.flatMap((entry) => {
    const { name } = entry.container;
    const newest = podStatus.containerStatuses.find((status) => status.name === name);
    if (entry.isRemoved === true) {
      if (newest !== undefined) removals.push(name);
      return newest === undefined ? [] : [entry];
    }
    if (entry.removesAtEnd === true && newest?.state === 'exited') {
      const waitMs = keptAfterEndMs - Math.max(0, now - newest.finishedAt);
      if (waitMs <= 0) removals.push(name);
      else waits.push(waitMs);
    }
    if (newest === undefined) return entry.hasStarted === true ? [] : [entry];
    const isNews = entry.hasStarted !== true && newest.state !== 'created';
    return [isNews ? { ...entry, hasStarted: true as const } : entry];
  });
  const isSame = settled.length === entries.length && settled.every((entry, index) => entry === entries[index]);
  return { entries: isSame ? entries : settled, removals, ...(waits.length > 0 && { dueInMs: Math.min(...waits) }) };
}

/** Throws if the text is no list of entries of this release. */
export function parseEntries(text: string): EphemeralEntry[] {
  const { version, entries } = Object(JSON.parse(text)) as { version?: unknown; entries?: unknown };
  if (version !== 1 || !Array.isArray(entries) || !entries.every(isEntry)) {
    throw new Error('it is not a list of ephemeral containers of this release');
  }
  return entries;
}

export function entriesText(entries: readonly EphemeralEntry[]): string {
  return JSON.stringify({ version: 1, entries });
}

function isEntry(value: unknown): value is EphemeralEntry {
  const { container } = Object(value) as { container?: unknown };
  const { name, image } = Object(container) as { name?: unknown; image?: unknown };
  return typeof name === 'string' && typeof image === 'string';
}
