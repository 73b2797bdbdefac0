import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import { type AgentSocket, fetchSnapshot, followEvents } from './control-client.ts';

/**
 * Yields the snapshot of the agent at once, and again after each of its events. The first one includes the manifests
 * that are currently on disk. Stops when the agent exits or the signal is aborted.
 */
export async function* snapshotsAtEvents(
  socket: AgentSocket,
  signal: AbortSignal,
): AsyncGenerator<EngineSnapshot, void> {
  const done = new AbortController();
  const events = followEvents(socket, AbortSignal.any([signal, done.signal]));
  try {
    // Opens the stream before the first snapshot, so that no event is missed.
    let next = events.next();
    for (let settled = true; ; settled = false) {
      // The stream may fail before it is awaited below, for example with an agent that is stuck.
      next.catch(() => undefined);
      const snapshot = await unlessAborted(fetchSnapshot(socket, { waits: true, settled }), signal);
      if (snapshot === undefined) return;
      yield snapshot;
      const { done: hasEnded } = await next;
      if (hasEnded === true) return;
      next = events.next();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    done.abort();
  }
}
