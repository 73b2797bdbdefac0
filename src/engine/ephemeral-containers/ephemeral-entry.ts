import type { EphemeralContainer } from '../../api/types.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/** An ephemeral container that was added to a pod. */
export interface EphemeralEntry {
  container: EphemeralContainer;
  /** True if it is removed once it has exited. */
  removesAtEnd?: true;
  /** True if its removal was requested, and it may still be in the runtime. */
  isRemoved?: true;
  /** True once it was seen started. Then it never starts again, even if the runtime loses it. */
  hasStarted?: true;
}

/** A pod's next list, and the work that follows from it. */
export interface SettledEntries {
  /** The same list if nothing changed. */
  entries: readonly EphemeralEntry[];
  /** Names of containers to stop and remove from the runtime. */
  removals: string[];
  /** Milliseconds until an exited container is removed. Undefined if none is to be removed. */
  dueInMs?: number;
}

/** How long a container that is removed at its exit stays, so that there is time to read its log. */
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
    const hasJustStarted = entry.hasStarted !== true && newest.state !== 'created';
    return [hasJustStarted ? { ...entry, hasStarted: true as const } : entry];
  });
  const isSame = settled.length === entries.length && settled.every((entry, index) => entry === entries[index]);
  return { entries: isSame ? entries : settled, removals, ...(waits.length > 0 && { dueInMs: Math.min(...waits) }) };
}

/** Throws if the text is not a list of entries that this release wrote. */
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
