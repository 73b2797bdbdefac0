import type { Logger } from '../../logger.ts';
import type { Routes } from '../http-server.ts';
import type { ActionLog } from './action-log.ts';
import { agentRoutes } from './agent-routes.ts';
import { appliedRoutes } from './applied-routes.ts';
import { ControlRefusal, sendRefusal } from './control-answer.ts';
import type { ControlContext, ControlRoutes } from './control-route.ts';
import { eventRoutes } from './event-routes.ts';
import { podRoutes } from './pod-routes.ts';
import { stateRoutes } from './state-routes.ts';

type RoutesPart = (context: ControlContext) => ControlRoutes;

/** All routes of the control socket. Each file lists its own. */
const allParts: readonly RoutesPart[] = [agentRoutes, stateRoutes, eventRoutes, podRoutes, appliedRoutes];

/**
 * The routes as the server takes them. Answers a `ControlRefusal` of a route, and logs each request that is not a read.
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
          closed.abort(new Error('the client has left'));
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
