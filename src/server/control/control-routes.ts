import type { Logger } from '../../logger.ts';
import { visible } from '../../visible-text.ts';
import type { Routes } from '../http-server.ts';
import { agentRoutes } from './agent-routes.ts';
import { appliedRoutes } from './applied-routes.ts';
import { Refusal, sendRefusal } from './control-answer.ts';
import type { ControlCall, ControlContext, ControlRoutes } from './control-route.ts';
import { eventRoutes } from './event-routes.ts';
import { podRoutes } from './pod-routes.ts';
import { stateRoutes } from './state-routes.ts';

type RoutesPart = (context: ControlContext) => ControlRoutes;

/** All routes of the control socket. Each file lists its own. */
const allParts: readonly RoutesPart[] = [agentRoutes, stateRoutes, eventRoutes, podRoutes, appliedRoutes];

/** Longest name of a client in the log. */
const maxClientLength = 200;

/** The routes as the server takes them. Answers a `Refusal` of a route, and logs each request that is not a read. */
export function controlRoutes(
  context: ControlContext,
  logger: Logger,
  parts: readonly RoutesPart[] = allParts,
): Routes {
  const routes = Object.assign({}, ...parts.map((part) => part(context))) as ControlRoutes;
  return Object.fromEntries(
    Object.entries(routes).map(([key, handle]) => [
      key,
      async (request, response, params) => {
        const query = new URL(request.url ?? '', 'http://localhost').searchParams;
        const call = { request, response, params, query };
        if (request.method !== 'GET') logAction(logger, call);
        try {
          await handle(call);
        } catch (error) {
          if (!(error instanceof Refusal) || response.headersSent) throw error;
          sendRefusal(response, error);
        }
      },
    ]),
  );
}

/** The client names itself. Only root, or a member of the control group, can be one. */
function logAction(logger: Logger, { request: { method, url, headers }, response }: ControlCall): void {
  const client = visible(headers['user-agent'] ?? 'unnamed').slice(0, maxClientLength);
  response.once('close', () => {
    logger.info({ method, path: url, client, status: response.statusCode }, 'Control request');
  });
}
