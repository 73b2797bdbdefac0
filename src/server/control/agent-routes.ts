import { sendJSON } from './control-answer.ts';
import type { ControlContext, ControlRoutes } from './control-route.ts';

/**
 * The agent itself.
 * - `GET /v1/agent`: answers at once; with `runtime`, once the container runtime is known.
 * - `POST /v1/shutdown`.
 */
export function agentRoutes(context: ControlContext): ControlRoutes {
  return {
    'GET /v1/agent': async (call) => {
      const { pid } = process;
      if (!call.query.has('runtime')) {
        sendJSON(context, call.response, { pid });
        return;
      }
      const { runtime } = (await context.engineFor(call)).snapshot({ brief: true });
      sendJSON(context, call.response, { pid, runtimeEndpoint: runtime.endpoint });
    },
    'POST /v1/shutdown': ({ response }) => {
      response.end();
      context.shutdown();
    },
  };
}
