import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, readFileSync } from 'node:fs';
import { chmod, symlink, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Logger } from '../../../src/logger.ts';
import { ActionLog } from '../../../src/server/control/action-log.ts';
import { call } from '../../../src/server/control/control-call.ts';
import type { ControlContext } from '../../../src/server/control/control-route.ts';
import { controlRoutes } from '../../../src/server/control/control-routes.ts';
import { PeerCredentials } from '../../../src/server/control/peer-credentials.ts';
import { httpServer, listening } from '../../../src/server/http-server.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

interface World {
  socketPath: string;
  actions: ActionLog;
  logged: unknown[];
}

/** Serves a route that answers at once, or as `answer` does. */
async function serve(
  credentials = new PeerCredentials(),
  answer = (response: ServerResponse): void => void response.end(),
): Promise<World> {
  const socketPath = join(await temporaryFolder(), 'control.sock');
  const logged: unknown[] = [];
  const logger: Logger = { ...silentLogger, info: (facts: unknown) => void logged.push(facts) };
  const actions = new ActionLog(credentials);
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

/** A folder that has `sh` and these programs alone. */
async function programs(own: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  await symlink('/bin/sh', join(folder, 'sh'));
  for (const [name, target] of Object.entries(own)) await symlink(target, join(folder, name));
  return folder;
}

const myself = `pid ${process.pid} uid ${process.getuid?.()}`;

test('requests that are not reads are logged with the client that the kernel knows', async () => {
  const { socketPath, actions, logged } = await serve();
  await call({ socketPath, method: 'GET', path: '/v1/things' });
  await act(socketPath);
  await actions.written();
  expect(logged).toEqual([
    {
      method: 'POST',
      path: '/v1/things/a',
      client: `${myself} gid ${process.getgid?.()}`,
      userAgent: expect.stringContaining(myself) as string,
      status: 200,
    },
  ]);
});

test('a command under sudo says who called it', async () => {
  vi.stubEnv('SUDO_USER', 'ada');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { socketPath, actions, logged } = await serve();
  await act(socketPath);
  await actions.written();
  expect(logged).toEqual([expect.objectContaining({ userAgent: `${myself} (sudo ada)` })]);
});

test('a client that lies about itself, and leaves before the answer, is named by the kernel', async () => {
  const { socketPath, actions, logged } = await serve(new PeerCredentials(), (response) => {
    response.req.socket.destroy();
  });
  const long = 'x'.repeat(600);
  const head = `POST /v1/things/${long} HTTP/1.1\r\nhost: a\r\nuser-agent: pid 1 uid 0\x9b31m${long}\r\n\r\n`;
  const sent = JSON.stringify(head);
  const program = `require('net').connect(${JSON.stringify(socketPath)}).on('error', () => {}).write(${sent}, 'latin1')`;
  const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
  await once(child, 'exit');
  await actions.written();
  expect(logged).toEqual([
    {
      method: 'POST',
      path: `/v1/things/${long}`.slice(0, 500),
      client: `pid ${child.pid} uid ${process.getuid?.()} gid ${process.getgid?.()}`,
      userAgent: `pid 1 uid 0\\x9b31m${long}`.slice(0, 500),
      status: 200,
    },
  ]);
});

test.each([
  [
    'python3 does it without perl',
    { python3: '/usr/bin/python3' },
    expect.stringMatching(/^pid \d+ uid 0 gid 0$/) as unknown,
  ],
  ['neither', {}, 'unknown: neither perl nor python3 is installed'],
  ['a program that says nothing', { perl: '/bin/true' }, 'unknown: the kernel did not report it'],
])('the log says how much is known: %s', async (_case, own, client) => {
  const { socketPath, actions, logged } = await serve(new PeerCredentials(await programs(own)));
  await act(socketPath);
  await actions.written();
  expect(logged).toEqual([expect.objectContaining({ client })]);
});

test('a program that hangs delays no answer, and nine requests at once leave one unknown', async () => {
  const folder = await programs({});
  await writeFile(join(folder, 'perl'), '#!/bin/sh\nexec /bin/sleep 60\n');
  await chmod(join(folder, 'perl'), 0o755);
  const { socketPath, actions, logged } = await serve(new PeerCredentials(folder));
  await Promise.all(Array.from({ length: 9 }, () => act(socketPath)));
  const clients = (): string[] => logged.map((entry) => (entry as { client: string }).client);
  expect(clients()).toEqual(['unknown: too many requests at once']);
  await actions.written();
  expect(clients()).toEqual([
    'unknown: too many requests at once',
    ...Array.from({ length: 8 }, () => 'unknown: not read within 1 s'),
  ]);
});

test('the socket stays non-blocking, because a client that does not read would stop the agent', async () => {
  let flags = '';
  const { socketPath, actions } = await serve(new PeerCredentials(), (response) => {
    const { fd } = (response.socket as unknown as { _handle: { fd: number } })._handle;
    flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '';
    response.end();
  });
  await act(socketPath);
  await actions.written();
  expect(Number.parseInt(flags, 8) & constants.O_NONBLOCK).toBe(constants.O_NONBLOCK);
});

test('a socket that has closed is never looked up', async () => {
  const { socketPath } = await serve();
  const socket = connect(socketPath);
  await once(socket, 'connect');
  socket.destroy();
  expect(await new PeerCredentials().of(socket)).toBe('unknown: it disconnected');
});
