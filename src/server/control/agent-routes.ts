import { sendJSON } from './control-answer.ts';
import type { ControlContext, ControlRoutes } from './control-route.ts';

/** The agent itself. */
export function agentRoutes(context: ControlContext): ControlRoutes {
  return {
    'GET /v1/agent': ({ response }) => {
      sendJSON(context, response, { pid: process.pid });
    },
    'POST /v1/shutdown': ({ response }) => {
      response.end();
      context.shutdown();
    },
  };
}
