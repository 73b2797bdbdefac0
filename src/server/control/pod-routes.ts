import type { PodName } from '../../api/values/pod-names.ts';
import { operationActions } from '../../engine/operations/operation.ts';
import { ControlRefusal, sendJSON, unlessRefused } from './control-answer.ts';
import type { ControlCall, ControlContext, ControlledEngine, ControlRoutes } from './control-route.ts';
import { readOptions } from './read-body.ts';

/**
 * Declared pods.
 * - `GET /v1/pods/{namespace}/{name}/revisions`: the revisions of its manifest that were taken.
 * - `POST /v1/pods/{namespace}/{name}/{action}`: restart (option `container`), stop, start, retry, hold, unhold,
 *   rollback (option `to`). Answers `{"message": …}` once the request is on disk. Repeating one changes nothing.
 * - `POST /v1/pods/{namespace}/{name}/ephemeralcontainers`: adds a container to a running pod.
 * - `DELETE /v1/pods/{namespace}/{name}/ephemeralcontainers/{container}`: ends and removes it.
 */
export function podRoutes(context: ControlContext): ControlRoutes {
  return {
    'GET /v1/pods/{namespace}/{name}/revisions': async (call) => {
      const engine = await settledEngine(context, call);
      const revisions = await unlessRefused(() => engine.pastRevisions(podOf(call)));
      sendJSON(call.response, revisions);
    },
    // Comes before the actions, because the first matching route wins.
    'POST /v1/pods/{namespace}/{name}/ephemeralcontainers': async (call) => {
      const { container, removesAtEnd = false } = await readOptions(call.request);
      if (typeof container !== 'object' || container === null)
        throw new ControlRefusal(400, 'container must be an object');
      if (typeof removesAtEnd !== 'boolean') throw new ControlRefusal(400, 'removesAtEnd must be true or false');
      const engine = await settledEngine(context, call);
      const request = { json: JSON.stringify(container), removesAtEnd };
      sendJSON(call.response, { name: await unlessRefused(() => engine.addEphemeralContainer(podOf(call), request)) });
    },
    'DELETE /v1/pods/{namespace}/{name}/ephemeralcontainers/{container}': async (call) => {
      const engine = await settledEngine(context, call);
      const name = call.params['container'] ?? '';
      const message = await unlessRefused(() => engine.removeEphemeralContainer(podOf(call), name));
      sendJSON(call.response, { message });
    },
    'POST /v1/pods/{namespace}/{name}/{action}': async (call) => {
      const action = operationActions.find((known) => known === call.params['action']);
      if (action === undefined) throw new ControlRefusal(404, `there is no action ${call.params['action'] ?? ''}`);
      const { container, to } = await readOptions(call.request);
      if (container !== undefined && typeof container !== 'string')
        throw new ControlRefusal(400, 'container must be a string');
      if (to !== undefined && typeof to !== 'number') throw new ControlRefusal(400, 'to must be a number');
      const engine = await settledEngine(context, call);
      const request = {
        action,
        pod: podOf(call),
        ...(container !== undefined && { container }),
        ...(to !== undefined && { to }),
      };
      sendJSON(call.response, { message: await unlessRefused(() => engine.operate(request, call.signal)) });
    },
  };
}

/** The engine, once it knows the manifests that are currently on disk, which it does not right after a start. */
async function settledEngine(context: ControlContext, call: ControlCall): Promise<ControlledEngine> {
  const engine = await context.engineFor(call);
  await unlessRefused(() => engine.settled());
  return engine;
}

function podOf({ params }: ControlCall): PodName {
  return { namespace: params['namespace'] ?? '', name: params['name'] ?? '' };
}
