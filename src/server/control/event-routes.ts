import type { ControlContext, ControlRoutes } from './control-route.ts';

/** Limit on unread bytes of one reader of events. */
const maxUnreadEventBytes = 1024 * 1024;

/**
 * Streams of one JSON object a line, until the reader disconnects.
 * - `GET /v1/events`: every event.
 * - `GET /v1/changes`: the snapshot, then its changes.
 */
export function eventRoutes({ engineFor, view, unread, changes }: ControlContext): ControlRoutes {
  return {
    'GET /v1/changes': async (call) => {
      const engine = await engineFor(call);
      if (call.response.destroyed) return;
      call.response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      changes.add(engine, call.response);
    },
    'GET /v1/events': async ({ response }) => {
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
  };
}
