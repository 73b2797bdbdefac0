import type { ControlContext, ControlRoutes } from './control-route.ts';

/**
 * Streams of one JSON object a line, until the reader disconnects.
 * - `GET /v1/events`: every event.
 * - `GET /v1/changes`: the snapshot, then its changes.
 */
export function eventRoutes({ engineFor, view, changes, events }: ControlContext): ControlRoutes {
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
