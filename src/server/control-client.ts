import { type IncomingMessage, request } from 'node:http';
import { watch } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { KubeletEvent } from '../engine/events.ts';
import type { HistoryEntry } from '../engine/history/history-entry.ts';
import type { EngineSnapshot } from '../engine/snapshot.ts';
import { hasCode, UserError } from '../errors.ts';

/** Where the agent of a root-dir answers. */
export function controlSocketPath(rootDir: string): string {
  return rootDir === '/var/lib/kubelet-ts' ? '/run/kubelet-ts/kubelet-ts.sock' : join(rootDir, 'kubelet-ts.sock');
}

/**
 * The snapshot of the agent that serves this socket, with its process id; undefined when none answers. With `waits` also that
 * of one that waits for its runtime, once that came; without it rejects with a `UserError`.
 */
export async function fetchSnapshot(
  path: string,
  { waits = false } = {},
): Promise<(EngineSnapshot & { pid: number }) | undefined> {
  const body = await call(path, 'GET', `/v1/snapshot${waits ? '?wait' : ''}`);
  return body === undefined ? undefined : (JSON.parse(body) as EngineSnapshot & { pid: number });
}

/** What happened to a pod, as the agent of this socket tells; undefined when none answers. */
export async function fetchHistory(
  path: string,
  { namespace, name }: { namespace: string; name: string },
): Promise<HistoryEntry[] | undefined> {
  const query = new URLSearchParams({ namespace, name });
  const body = await call(path, 'GET', `/v1/history?${query.toString()}`);
  return body === undefined ? undefined : (JSON.parse(body) as HistoryEntry[]);
}

/** The agent that serves this socket, also while it is still starting; undefined when none answers. */
export async function fetchAgent(path: string): Promise<{ pid: number } | undefined> {
  const body = await call(path, 'GET', '/v1/agent');
  return body === undefined ? undefined : (JSON.parse(body) as { pid: number });
}

/** Resolves when an agent serves this socket; its folder must exist. Rejects with an AbortError when aborted first. */
export async function waitForAgent(path: string, signal: AbortSignal): Promise<void> {
  const found = new AbortController();
  const changes = watch(dirname(path), { signal: AbortSignal.any([signal, found.signal]) })[Symbol.asyncIterator]();
  for (;;) {
    // Watched before it is looked at, so that no change is missed in between.
    const changed = changes.next();
    if ((await fetchAgent(path)) !== undefined) {
      changed.catch(() => undefined);
      found.abort();
      return;
    }
    await changed;
  }
}

/** Tells the agent to end, its pods stay; false when none answers. */
export async function requestShutdown(path: string): Promise<boolean> {
  return (await call(path, 'POST', '/v1/shutdown')) !== undefined;
}

/** Resolves when the agent that serves this socket is gone: its event stream ends with it. */
export async function waitForEnd(path: string): Promise<void> {
  const response = await send(path, 'GET', '/v1/events');
  if (response !== undefined) await drained(response);
}

/** Every event of the agent from now on, until it ends or the signal is aborted; nothing when none answers. */
export async function* followEvents(path: string, signal: AbortSignal): AsyncGenerator<KubeletEvent, void> {
  const response = await send(path, 'GET', '/v1/events');
  if (response === undefined) return;
  const lines = createInterface({ input: response });
  // A reader of lines does not notice that its input is destroyed, or lost with the agent.
  response.once('close', () => {
    lines.close();
  });
  const stop = (): void => {
    response.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for await (const line of lines) yield JSON.parse(line) as KubeletEvent;
  } catch (error) {
    if (!signal.aborted && !hasCode(error, 'ECONNRESET')) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    response.destroy();
  }
}

async function call(socketPath: string, method: string, path: string): Promise<string | undefined> {
  const response = await send(socketPath, method, path);
  if (response === undefined) return undefined;
  const body = await drained(response);
  if (response.statusCode !== 503) return body;
  throw new UserError(`kubelet-ts waits for its runtime: ${body.trim()}`, { hint: 'Start the runtime.' });
}

/** Undefined: nobody there, no socket or one that a killed agent left. */
function send(socketPath: string, method: string, path: string): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    // Connected by hand: by itself Node would work out a name for TLS first, which takes it 10 ms.
    const sent = request({ method, path, createConnection: () => connect(socketPath) }, resolve);
    sent.on('error', (error) => {
      // The last two: the agent ended while it was asked.
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE')) resolve(undefined);
      else if (hasCode(error, 'EACCES')) {
        reject(new UserError(`no permission to open ${socketPath}`, { hint: 'Run as root.' }));
      } else reject(error);
    });
    sent.end();
  });
}

/** The whole body; what came before a lost connection counts. */
async function drained(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    if (!hasCode(error, 'ECONNRESET')) throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}
