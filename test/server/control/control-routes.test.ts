import { request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ActionLog } from '../../../src/server/control/action-log.ts';
import { ControlRefusal, sendJSON } from '../../../src/server/control/control-answer.ts';
import { call } from '../../../src/server/control/control-call.ts';
import type { ControlContext, ControlRoutes } from '../../../src/server/control/control-route.ts';
import { controlRoutes } from '../../../src/server/control/control-routes.ts';
import { readOptions } from '../../../src/server/control/read-body.ts';
import { httpServer, listening } from '../../../src/server/http-server.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Serves a route that answers with what it got. */
async function serve(onLeft: (name: string) => void = () => undefined): Promise<string> {
  const socketPath = join(await temporaryFolder(), 'control.sock');
  const own = (): ControlRoutes => ({
    'GET /v1/things/{name}': ({ params, response }) => {
      sendJSON(response, params);
    },
    'DELETE /v1/things/{name}': ({ params, signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          onLeft(params['name'] ?? '');
          reject(signal.reason as Error);
        });
      }),
    'POST /v1/things/{name}/{action}': async ({ params, request, response }) => {
      const options = await readOptions(request);
      if (params['action'] === 'refuse') throw new ControlRefusal(409, 'it is held', 'Release it.');
      sendJSON(response, { ...params, options });
    },
  });
  const server = httpServer(
    controlRoutes({} as ControlContext, { actions: new ActionLog(), logger: silentLogger }, [own]),
    { faults: silentFaults() },
  );
  await listening(server, { path: socketPath });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return socketPath;
}

test('routes get the decoded parts of the path, and bounded options', async () => {
  const socketPath = await serve();
  const ask = (path: string, body?: string): Promise<string | undefined> =>
    call({ socketPath, method: 'POST', path, ...(body !== undefined && { body: Buffer.from(body) }) });
  expect(await ask('/v1/things/a%2Fb/stop', '{"to":3}')).toBe('{"name":"a/b","action":"stop","options":{"to":3}}');
  expect(await ask('/v1/things/a/stop')).toBe('{"name":"a","action":"stop","options":{}}');
  await expect(ask('/v1/things/a/stop', '[]')).rejects.toThrow('the body is not a JSON object');
  await expect(ask('/v1/things/a/stop', 'x'.repeat(70_000))).rejects.toThrow('longer than 65536 bytes');
  await expect(ask('/v1/things//stop')).rejects.toThrow('not found');
});

test('a refusal reaches the client as one sentence with its hint', async () => {
  const socketPath = await serve();
  const refused = call({ socketPath, method: 'POST', path: '/v1/things/a/refuse' });
  await expect(refused).rejects.toMatchObject({ message: 'it is held', hint: 'Release it.' });
});

test('a route learns that its client has left', async () => {
  const left = await new Promise<string>((resolve, reject) => {
    serve(resolve).then((socketPath) => {
      const asking = request({ socketPath, method: 'DELETE', path: '/v1/things/web' }).on('error', () => undefined);
      asking.end(() => setImmediate(() => asking.destroy()));
    }, reject);
  });
  expect(left).toBe('web');
});
