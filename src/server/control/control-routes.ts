import type { Logger } from '../../logger.ts';
import type { Routes } from '../http-server.ts';
import type { ActionLog } from './action-log.ts';
import { appliedRoutes } from './applied-routes.ts';
import { ControlRefusal, sendRefusal, sendJSON } from './control-answer.ts';
import type { ControlContext, ControlRoutes } from './control-route.ts';
import { podRoutes } from './pod-routes.ts';
import { workloadRoutes } from './workload-routes.ts';
import { stateRoutes } from './state-routes.ts';
import { programVersion } from '../../process/program-version.ts';

type RoutesPart = (context: ControlContext) => ControlRoutes;

/** All routes of the control socket. Each file lists its own. */
const allParts: readonly RoutesPart[] = [
  agentRoutes,
  stateRoutes,
  eventRoutes,
  podRoutes,
  workloadRoutes,
  appliedRoutes,
];

/**
 * The routes as the server expects them. Answers a `ControlRefusal` of a route, and logs each request that is not a
 * read.
 */
export function controlRoutes(
  context: ControlContext,
  { actions, logger }: { actions: ActionLog; logger: Logger },
  parts: readonly RoutesPart[] = allParts,
): Routes {
  const routes = Object.assign({}, ...parts.map((part) => part(context))) as ControlRoutes;
  return Object.fromEntries(
    Object.entries(routes).map(([key, handle]) => [
      key,
      async (request, response, params) => {
        const query = new URL(request.url ?? '', 'http://localhost').searchParams;
        const closed = new AbortController();
        response.once('close', () => {
          closed.abort(new Error('the client has disconnected'));
        });
        const { signal } = closed;
        const call = { request, response, params, query, signal };
        if (request.method !== 'GET') actions.record(call, logger);
        try {
          await handle(call);
        } catch (error) {
          if (error === signal.reason) return;
          if (!(error instanceof ControlRefusal) || response.headersSent) throw error;
          sendRefusal(response, error);
        }
      },
    ]),
  );
}

/**
 * The agent itself.
 * - `GET /v1/agent`: its process and version. Answers at once; with `runtime`, once the container runtime is known.
 * - `POST /v1/shutdown`.
 */
function agentRoutes(context: ControlContext): ControlRoutes {
  return {
    'GET /v1/agent': async (call) => {
      const agent = { pid: process.pid, version: programVersion };
      if (!call.query.has('runtime')) {
        sendJSON(call.response, agent);
        return;
      }
      const { runtime } = (await context.engineFor(call)).snapshot({ brief: true });
      sendJSON(call.response, { ...agent, runtimeEndpoint: runtime.endpoint });
    },
    'POST /v1/shutdown': ({ response }) => {
      response.end();
      context.shutdown();
    },
  };
}

/**
 * Streams of one JSON object a line, until the reader disconnects.
 * - `GET /v1/events`: every event.
 * - `GET /v1/changes`: the snapshot, then its changes.
 */
function eventRoutes({ engineFor, view, changes, events }: ControlContext): ControlRoutes {
  return {
    'GET /v1/changes': async (call) => {
      const engine = await engineFor(call);
      if (call.response.destroyed) return;
      call.response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      changes.add(engine, call.response);
    },
    'GET /v1/events': async ({ response }) => {
      const engine = await view;
      // Already closed, so no other event would report it.
      if (response.destroyed) return;
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.flushHeaders();
      events.add(engine, response);
    },
  };
}
