import { access, constants, watch } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { HistoryEntry } from '../engine/history/history-entry.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import { hasCode, isOutOfWatches } from '../errors.ts';
import { needsRoot } from '../needs-root.ts';
import { AgentSilentError, call, stream, untilGone } from './control-call.ts';

/** Between two looks for an agent that nobody tells about. */
const unwatchedPeriodMs = 500;

/**
 * What an agent is asked. Each of these rejects with an `AgentSilentError` within 2 s when the agent is stuck.
 */

/** Where the agent of a root-dir answers. */
export function controlSocketPath(rootDir: string): string {
  return rootDir === '/var/lib/kubelet-ts' ? '/run/kubelet-ts/kubelet-ts.sock' : join(rootDir, 'kubelet-ts.sock');
}

/**
 * The snapshot of the agent that serves this socket, with its process id; undefined when none answers. With `waits` also that
 * of one that waits for its runtime, once that came; without it rejects with a `UserError`. With `settled` it shows what the
 * manifests on disk declared at the time of the call.
 */
export async function fetchSnapshot(
  path: string,
  { waits = false, settled = false } = {},
): Promise<(EngineSnapshot & { pid: number }) | undefined> {
  return ask<EngineSnapshot & { pid: number }>(
    path,
    `/v1/snapshot?${[...(waits ? ['wait'] : []), ...(settled ? ['settled'] : [])].join('&')}`,
  );
}

/** What happened to a pod, as the agent of this socket tells; undefined when none answers. */
export async function fetchHistory(
  path: string,
  { namespace, name }: { namespace: string; name: string },
): Promise<HistoryEntry[] | undefined> {
  const query = new URLSearchParams({ namespace, name });
  return ask<HistoryEntry[]>(path, `/v1/history?${query.toString()}`);
}

/** The agent that serves this socket, also while it is still starting; undefined when none answers. */
export async function fetchAgent(path: string): Promise<{ pid: number } | undefined> {
  return ask<{ pid: number }>(path, '/v1/agent');
}

/** Resolves when an agent serves this socket; its folder must exist. Rejects with an AbortError when aborted first. */
export async function waitForAgent(path: string, signal: AbortSignal): Promise<void> {
  const found = new AbortController();
  await refuseHidden(path);
  const changes = folderChanges(dirname(path), AbortSignal.any([signal, found.signal]));
  for (;;) {
    // Watched before it is looked at, so that no change is missed in between.
    const changed = changes.next();
    // It is waited for below, perhaps after it failed.
    changed.catch(() => undefined);
    if ((await fetchAgent(path)) !== undefined) {
      found.abort();
      return;
    }
    await changed;
  }
}

/** An agent whose socket may not be seen looks like none. */
async function refuseHidden(path: string): Promise<void> {
  await access(dirname(path), constants.X_OK).catch((error: unknown) => {
    if (hasCode(error, 'EACCES')) throw needsRoot(path, error);
  });
}

/** Ends with each change of a folder, and where the kernel has no watch left, from time to time. */
async function* folderChanges(folder: string, signal: AbortSignal): AsyncGenerator<void, never> {
  try {
    const changes = watch(folder, { signal })[Symbol.asyncIterator]();
    while ((await changes.next()).done !== true) yield;
  } catch (error) {
    if (!isOutOfWatches(error)) throw error;
  }
  for (;;) {
    await delay(unwatchedPeriodMs, undefined, { signal });
    yield;
  }
}

/** Asks the agent to end, its pods stay; false if none runs. */
export async function requestShutdown(path: string): Promise<boolean> {
  return (await call({ socketPath: path, method: 'POST', path: '/v1/shutdown' })) !== undefined;
}

/** Resolves when the agent that serves this socket is gone: its event stream ends with it. */
export async function waitForEnd(path: string): Promise<void> {
  await untilGone({ socketPath: path, method: 'GET', path: '/v1/events' });
}

/** Every event of the agent from now on, until it ends or the signal is aborted; nothing if none runs. */
export async function* followEvents(path: string, signal: AbortSignal): AsyncGenerator<KubeletEvent, void> {
  for await (const line of stream({ socketPath: path, method: 'GET', path: '/v1/events' }, signal)) {
    yield JSON.parse(line) as KubeletEvent;
  }
}

async function ask<T>(socketPath: string, path: string): Promise<T | undefined> {
  const body = await call({ socketPath, method: 'GET', path });
  if (body === undefined) return undefined;
  try {
    return JSON.parse(body) as T;
  } catch {
    // Something else listens there.
    throw await AgentSilentError.of(socketPath, 'answers with no JSON');
  }
}
