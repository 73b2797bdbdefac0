import { connect } from 'node:net';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Logger } from '../../../src/logger.ts';
import { ActionLog } from '../../../src/server/control/action-log.ts';
import { call } from '../../../src/server/control/control-call.ts';
import type { ControlContext } from '../../../src/server/control/control-route.ts';
import { controlRoutes } from '../../../src/server/control/control-routes.ts';
import { httpServer, listening } from '../../../src/server/http-server.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

interface World {
  socketPath: string;
  actions: ActionLog;
  logged: unknown[];
}

/** Serves a route that answers at once, or as `answer` does. */
async function serve(answer = (response: ServerResponse): void => void response.end()): Promise<World> {
  const socketPath = join(await temporaryFolder(), 'control.sock');
  const logged: unknown[] = [];
  const logger: Logger = { ...silentLogger, info: (facts: unknown) => void logged.push(facts) };
  const actions = new ActionLog();
  const route = ({ response }: { response: ServerResponse }): void => {
    answer(response);
  };
  const routes = controlRoutes({} as ControlContext, { actions, logger }, [
    () => ({ 'GET /v1/things': route, 'POST /v1/things/{name}': route }),
  ]);
  const server = httpServer(routes, { faults: silentFaults() });
  await listening(server, { path: socketPath });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { socketPath, actions, logged };
}

const act = (socketPath: string): Promise<string | undefined> =>
  call({ socketPath, method: 'POST', path: '/v1/things/a' });

const myself = `pid ${process.pid} uid ${process.getuid?.()}`;

test('logs requests that are not reads, with the name that the client gives itself', async () => {
  const { socketPath, actions, logged } = await serve();
  await call({ socketPath, method: 'GET', path: '/v1/things' });
  await act(socketPath);
  await actions.written();
  expect(logged).toEqual([{ method: 'POST', path: '/v1/things/a', userAgent: myself, status: 200 }]);
});

test('names the user who called a command by sudo', async () => {
  vi.stubEnv('SUDO_USER', 'ada');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { socketPath, actions, logged } = await serve();
  await act(socketPath);
  await actions.written();
  expect(logged).toEqual([expect.objectContaining({ userAgent: `${myself} (sudo ada)` })]);
});

test('bounds and escapes what a client sends, also if it leaves before the answer', async () => {
  const { socketPath, actions, logged } = await serve((response) => {
    response.req.socket.destroy();
  });
  const long = 'x'.repeat(600);
  const closed = new Promise((resolve) => {
    connect(socketPath)
      .on('error', () => undefined)
      .once('close', resolve)
      .write(`POST /v1/things/${long} HTTP/1.1\r\nhost: a\r\nuser-agent: pid 1\x9b31m${long}\r\n\r\n`, 'latin1');
  });
  await closed;
  await actions.written();
  expect(logged).toEqual([
    {
      method: 'POST',
      path: `/v1/things/${long}`.slice(0, 500),
      userAgent: `pid 1\\x9b31m${long}`.slice(0, 500),
      status: 200,
    },
  ]);
});
