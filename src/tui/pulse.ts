import type { KubeletEvent } from '../engine/view/events.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';

/** Latencies of the engine that the screen remembers, oldest first. */
export interface Pulse {
  relists: readonly { at: number; ms: number }[];
  syncs: readonly Sync[];
}

interface Sync {
  at: number;
  ms: number;
  isFailed: boolean;
}

/** Samples of each kind. */
const maxSamples = 500;

/** Starts with the last relist and the last sync of each pod. */
export function initialPulse(snapshot: EngineSnapshot): Pulse {
  const syncs = snapshot.pods.flatMap(({ worker: { lastSyncAt, lastSyncMs, lastSyncError } }): Sync[] =>
    lastSyncAt === undefined || lastSyncMs === undefined
      ? []
      : [{ at: lastSyncAt, ms: lastSyncMs, isFailed: lastSyncError !== undefined }],
  );
  const sorted = syncs.toSorted((a, b) => a.at - b.at).slice(-maxSamples);
  return withRelist({ relists: [], syncs: sorted }, snapshot);
}

/** Adds what happened since the last snapshot. */
export function nextPulse(pulse: Pulse, snapshot: EngineSnapshot, events: readonly KubeletEvent[]): Pulse {
  const syncs = events.flatMap((event): Sync[] =>
    event.type === 'SyncFinished' ? [{ at: event.at, ms: event.durationMs, isFailed: event.error !== undefined }] : [],
  );
  const { relists } = withRelist(pulse, snapshot);
  return { relists, syncs: syncs.length === 0 ? pulse.syncs : [...pulse.syncs, ...syncs].slice(-maxSamples) };
}

function withRelist(pulse: Pulse, { pleg: { lastRelistAt, lastRelistMs } }: EngineSnapshot): Pulse {
  if (lastRelistAt === undefined || lastRelistMs === undefined || lastRelistAt === pulse.relists.at(-1)?.at) {
    return pulse;
  }
  return { ...pulse, relists: [...pulse.relists, { at: lastRelistAt, ms: lastRelistMs }].slice(-maxSamples) };
}
