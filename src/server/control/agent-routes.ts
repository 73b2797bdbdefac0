import { programVersion } from '../../process/program-version.ts';
import { sendJSON } from './control-answer.ts';
import type { ControlContext, ControlRoutes } from './control-route.ts';

/**
 * The agent itself.
 * - `GET /v1/agent`: its process and version. Answers at once; with `runtime`, once the container runtime is known.
 * - `POST /v1/shutdown`.
 */
export function agentRoutes(context: ControlContext): ControlRoutes {
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
