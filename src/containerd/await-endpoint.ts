import { existsSync, type FSWatcher, watch } from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import type { Clock } from '../clock.ts';
import type { ProbeResult } from './probe-endpoint.ts';

/** A runtime that is not there, or does not answer: it hangs, or ends just now. */
export type Absence = Extract<ProbeResult, { kind: 'absent' | 'refused' | 'failed' }>;

interface Deps {
  probe: (endpoint: string) => Promise<ProbeResult>;
  clock: Clock;
  /** Told once, before the wait begins. */
  onWaiting: (endpoint: string, absence: Absence) => Promise<void>;
  signal: AbortSignal;
}

/** Between two looks, doubled each time; a change near the socket starts over. */
const firstDelayMs = 100;
const longestDelayMs = 10_000;

/**
 * What is behind an endpoint (`unix:///path`) as soon as somebody answers there. What is no CRI and what may not be
 * used is an answer too. Rejects with the signal's reason when aborted.
 */
export async function awaitEndpoint(endpoint: string, { probe, clock, onWaiting, signal }: Deps): Promise<ProbeResult> {
  const first = await probe(endpoint);
  if (!isAbsent(first)) return first;
  await onWaiting(endpoint, first);
  for (let delayMs = firstDelayMs; ;) {
    // Watched before it is looked at, so that nothing is missed in between.
    const change = watchForChange(endpoint.replace(/^unix:\/\//, ''));
    const changed = new AbortController();
    try {
      const result = await probe(endpoint);
      if (!isAbsent(result)) return result;
      const wait = clock.sleep(delayMs, { signal: AbortSignal.any([signal, changed.signal]) });
      const hasChanged = await Promise.race([change.happened.then(() => true), wait.then(() => false)]);
      delayMs = hasChanged ? firstDelayMs : Math.min(delayMs * 2, longestDelayMs);
    } finally {
      changed.abort();
      change.stop();
    }
  }
}

function isAbsent(result: ProbeResult): result is Absence {
  return result.kind === 'absent' || result.kind === 'refused' || result.kind === 'failed';
}

/** A change of what leads to a path: of the path itself, or of the first folder on the way to it that is missing. */
function watchForChange(path: string): { happened: Promise<void>; stop: () => void } {
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  const [name] = relative(folder, path).split(sep);
  let watcher: FSWatcher | undefined;
  const happened = new Promise<void>((resolve) => {
    try {
      watcher = watch(folder, (_, changed) => {
        if (changed === null || changed === name) resolve();
      }).on('error', () => undefined);
    } catch {
      // The folder went, or there are too many watches: it is looked at from time to time.
    }
  });
  return { happened, stop: () => watcher?.close() };
}
