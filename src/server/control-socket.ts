import { chmod, rename, rm } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { systemClock } from '../clock.ts';
import type { EngineHistory } from '../engine/history/history-entry.ts';
import type { StatsProvider } from '../engine/stats/stats-provider.ts';
import type { EngineSettling, EngineView } from '../engine/view/snapshot.ts';
import { UserError } from '../errors.ts';
import { exclusively } from '../exclusively.ts';
import type { Faults } from '../flow/faults.ts';
import { unlessAborted } from '../flow/unless-aborted.ts';
import { makeFolder } from '../make-folder.ts';
import { AgentSilentError, noteAgentProcess } from './control-call.ts';
import { fetchAgent } from './control-client.ts';
import { httpServer, listening, type Routes, sendText } from './http-server.ts';
import { type AgentMetrics, metricsContentType, metricsPaths } from './metrics/agent-metrics.ts';
import { UnreadAnswers } from './unread-answers.ts';

/** Longest path of a socket, in bytes, without its final NUL. */
const maxSocketPathBytes = 107;
/** Limit on unread bytes of one reader of events. */
const maxUnreadEventBytes = 1024 * 1024;
/** Limit on unread bytes of all clients: a few snapshots of a node with many pods. */
const maxUnreadBytes = 4 * 1024 * 1024;

interface ControlSocketDeps {
  /** Texts for Prometheus. */
  metrics: Pick<AgentMetrics, 'text'>;
  view: Promise<EngineView & EngineHistory & EngineSettling & Pick<StatsProvider, 'summary'>>;
  /** Aborted if the socket is no longer needed. */
  signal?: AbortSignal;
  /** The unbounded wait before the engine can be built, if there is one. */
  waitsFor: () => string | undefined;
  /** The current step of a slow start. Returns undefined if there is none. */
  starts?: (() => string | undefined) | undefined;
  shutdown: () => void;
  faults: Pick<Faults, 'note'>;
}

/**
 * Serves the engine on a socket that only its owner may open.
 * - `GET /v1/agent`: the identity of the agent.
 * - `GET /v1/snapshot`; with `settled`, once it includes what is on disk now.
 * - `GET /v1/history` of one pod.
 * - `GET /v1/stats`: the statistics, at most `maxAge` milliseconds old; with `cpuAndMemoryOnly`, these figures alone.
 * - `GET /v1/metrics`: for Prometheus, with `path` that of another page, such as `/metrics/resource`.
 * - `GET /v1/events`: one JSON object a line, until the reader disconnects.
 * - `POST /v1/shutdown`.
 *
 * Requests that need the engine wait until it is built. During an unbounded wait they are refused, unless the client
 * asked to wait. The socket is also the lock of the root-dir: rejects if an agent answers on it.
 */
export async function serveControlSocket(
  path: string,
  { view, metrics, waitsFor, starts, shutdown, faults, signal = new AbortController().signal }: ControlSocketDeps,
): Promise<Server> {
  if (Buffer.byteLength(path) > maxSocketPathBytes) {
    throw new UserError(`the path of the control socket is too long: ${path}`, {
      hint: 'Choose a shorter --root-dir.',
    });
  }
  const answersWithoutEngine = ({ url = '' }: IncomingMessage, response: ServerResponse): boolean => {
    const [reason, starting] = [waitsFor(), starts?.()];
    if (queryOf(url).has('wait')) return false;
    if (reason !== undefined) sendText(response, 503, reason);
    else if (starting !== undefined) sendText(response, 202, starting);
    return reason !== undefined || starting !== undefined;
  };
  const unread = new UnreadAnswers({ maxBytes: maxUnreadBytes, clock: systemClock });
  const sendJSON = (response: ServerResponse, value: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' });
    // Sends bytes, because Node would keep a text beside its bytes, with two bytes a letter if it has one `…`.
    response.end(Buffer.from(JSON.stringify(value)));
    unread.note(response);
  };
  const routes: Routes = {
    'GET /v1/agent': (_request, response) => {
      sendJSON(response, { pid: process.pid });
    },
    'GET /v1/snapshot': async (request, response) => {
      if (answersWithoutEngine(request, response)) return;
      const engine = await view;
      if (queryOf(request.url).has('settled')) await engine.settled();
      sendJSON(response, { pid: process.pid, ...engine.snapshot() });
    },
    'GET /v1/history': async (request, response) => {
      if (answersWithoutEngine(request, response)) return;
      const searchParams = queryOf(request.url);
      const pod = { namespace: searchParams.get('namespace') ?? '', name: searchParams.get('name') ?? '' };
      const engine = await view;
      sendJSON(response, await engine.history(pod));
    },
    'GET /v1/stats': async (request, response) => {
      if (answersWithoutEngine(request, response)) return;
      const query = queryOf(request.url);
      // A text that is no number asks for a new sample.
      const maxAgeMs = Number(query.get('maxAge')) || 0;
      const engine = await view;
      sendJSON(response, await engine.summary({ maxAgeMs, cpuAndMemoryOnly: query.has('cpuAndMemoryOnly') }));
    },
    'GET /v1/metrics': async (request, response) => {
      if (answersWithoutEngine(request, response)) return;
      const path = metricsPaths.find((known) => known === (queryOf(request.url).get('path') ?? '/metrics'));
      if (path === undefined) {
        sendText(response, 404, 'not found');
        return;
      }
      await view;
      response.writeHead(200, { 'content-type': metricsContentType });
      response.end(Buffer.from(await metrics.text(path)));
      unread.note(response);
    },
    'GET /v1/events': async (_request, response) => {
      const engine = await view;
      // Already closed, so no further event would report it.
      if (response.destroyed) return;
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.flushHeaders();
      const unsubscribe = engine.subscribe((event) => {
        response.write(`${JSON.stringify(event)}\n`);
        // Disconnects a slow reader to bound our memory. It may connect again and fetch the snapshot.
        if (response.writableLength > maxUnreadEventBytes) response.destroy();
        else unread.note(response);
      });
      response.on('close', unsubscribe);
    },
    'POST /v1/shutdown': (_request, response) => {
      response.end();
      shutdown();
    },
  };
  const server = httpServer(routes, { faults });
  await makeFolder(dirname(path), 0o700);
  // Binds under another name, sets the mode and renames, so that no other user can open the socket in between.
  const unnamed = `${path}.${process.pid}`;
  await rm(unnamed, { force: true });
  await listening(server, { path: unnamed });
  await chmod(unnamed, 0o600);
  try {
    // Under a lock, so that of two agents that start at once only one takes the name.
    const takeName = async (): Promise<void> => {
      await unlessAborted(refuseSecondAgent(path), signal);
      await noteAgentProcess(path);
      await rename(unnamed, path);
    };
    await exclusively(join(dirname(path), 'start.lock'), systemClock, takeName, { signal });
  } catch (error) {
    server.close();
    throw error;
  }
  server.unref();
  return server;
}

async function refuseSecondAgent(path: string): Promise<void> {
  const other = await fetchAgent(path).catch((error: unknown) => {
    if (!(error instanceof AgentSilentError)) throw error;
    throw new UserError(`kubelet-ts runs already on this root-dir: ${error.message}`, {
      ...(error.hint !== undefined && { hint: error.hint }),
      cause: error,
    });
  });
  if (other === undefined) return;
  throw new UserError(`kubelet-ts runs already on this root-dir (pid ${other.pid})`, {
    hint: 'Stop it first, or give this one another --root-dir.',
  });
}

const queryOf = (url = ''): URLSearchParams => new URL(url, 'http://localhost').searchParams;
