import { existsSync, type FSWatcher, watch } from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import type { Clock } from '../clock.ts';
import { abortWith } from '../flow/abort-with.ts';
import type { ProbeResult } from './probe-endpoint.ts';

/** The runtime is missing, or it does not answer because it hangs or is stopping. */
export type Absence = Extract<ProbeResult, { kind: 'absent' | 'refused' | 'failed' }>;

interface Deps {
  probe: (endpoint: string) => Promise<ProbeResult>;
  clock: Clock;
  /** Called once, before the wait begins. */
  onWaiting: (endpoint: string, absence: Absence) => Promise<void>;
  signal: AbortSignal;
}

/** First wait between two probes, in milliseconds. It doubles each time; a change near the socket resets it. */
const firstDelayMs = 100;
const longestDelayMs = 10_000;

/**
 * Probes an endpoint (`unix:///path`) until something answers there. A server without CRI, or one that we have no
 * permission for, counts as an answer. Rejects with the signal's reason if aborted.
 */
export async function awaitEndpoint(endpoint: string, { probe, clock, onWaiting, signal }: Deps): Promise<ProbeResult> {
  const first = await probe(endpoint);
  if (!isAbsent(first)) return first;
  await onWaiting(endpoint, first);
  for (let delayMs = firstDelayMs; ;) {
    // Watches before it probes, so that no change is missed.
    const change = watchForChange(endpoint.replace(/^unix:\/\//, ''));
    const changed = new AbortController();
    const release = abortWith(changed, signal);
    try {
      const result = await probe(endpoint);
      if (!isAbsent(result)) return result;
      const wait = clock.sleep(delayMs, { signal: changed.signal });
      const hasChanged = await Promise.race([change.happened.then(() => true), wait.then(() => false)]);
      delayMs = hasChanged ? firstDelayMs : Math.min(delayMs * 2, longestDelayMs);
    } finally {
      release();
      changed.abort();
      change.stop();
    }
  }
}

function isAbsent(result: ProbeResult): result is Absence {
  return result.kind === 'absent' || result.kind === 'refused' || result.kind === 'failed';
}

/** Watches a path, or the first missing folder on the way to it. */
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
      // The folder was removed, or the kernel has no watch left. The periodic probes continue.
    }
  });
  return { happened, stop: () => watcher?.close() };
}
