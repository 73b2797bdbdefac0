import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { acceptMore } from '../../src/server/accept-more.ts';
import { listening } from '../../src/server/http-server.ts';
import { Faults } from '../../src/flow/faults.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { isProbedWithin } from './is-probed-within.ts';

const program = [process.execPath, join(import.meta.dirname, '../../bin/kubelet-ts')];
const maxConnections = 256;

async function serve(options: ServerOptions = {}, where?: { path: string }): Promise<{ server: Server; port: number }> {
  const server = createServer(options, (_request, response) => response.end('ok'));
  await listening(server, where ?? { host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** The most connections of 100 that the server accepts in one turn of the event loop. */
async function mostInOneTurn(server: Server): Promise<number> {
  const address = server.address() ?? '';
  let [accepted, most, inTurn] = [0, 0, 0];
  const count = (): void => {
    accepted += 1;
    inTurn += 1;
  };
  server.on('connection', count);
  const sockets = Array.from({ length: 100 }, () =>
    typeof address === 'string' ? connect(address) : connect(address.port, '127.0.0.1'),
  );
  while (accepted < sockets.length) {
    await nextTurn();
    most = Math.max(most, inTurn);
    inTurn = 0;
  }
  server.off('connection', count);
  for (const socket of sockets) socket.destroy();
  return most;
}

test('from the first flood on, a turn of the event loop accepts several connections', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const { server, port } = await serve();
  const faults = silentFaults();
  const onFlood = acceptMore(server, { faults, program, maxConnections });
  expect(await mostInOneTurn(server)).toBe(1);
  const first = onFlood();
  expect(onFlood()).toBeUndefined();
  await first;
  expect(await mostInOneTurn(server)).toBe(64);
  expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('ok');
  expect([faults.snapshot(), warnings]).toEqual([[], []]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
});

test('a turn accepts several connections of a Unix socket too', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'socket');
  const { server } = await serve({}, { path });
  const faults = silentFaults();
  expect(await mostInOneTurn(server)).toBe(1);
  await acceptMore(server, { faults, program, maxConnections })();
  expect(await mostInOneTurn(server)).toBe(64);
  expect(faults.snapshot()).toEqual([]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const [error] = (await once(connect({ path }), 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ENOENT');
});

test('no connection is lost while the socket is on its way', async () => {
  const { server, port } = await serve();
  const more = { isThere: false };
  const first = acceptMore(server, { faults: silentFaults(), program, maxConnections })()?.then(() => {
    more.isThere = true;
  });
  const answers: string[] = [];
  while (!more.isThere) {
    const asked = Array.from({ length: 20 }, () => fetch(`http://127.0.0.1:${port}`).then((answer) => answer.text()));
    answers.push(...(await Promise.all(asked)));
  }
  await first;
  expect(new Set(answers)).toEqual(new Set(['ok']));
});

test('without help the server goes on, and a flood a minute later tries again', async () => {
  const { server } = await serve();
  const levels: string[] = [];
  const logger = { ...silentLogger, warn: () => levels.push('warn'), error: () => levels.push('error') };
  const faults = new Faults({ clock: new FakeClock(), logger });
  let now = 0;
  const onFlood = acceptMore(server, { faults, program: ['/bin/false'], maxConnections, now: () => now });
  await onFlood();
  expect(levels).toEqual(['warn']);
  const [{ part, count, message } = {}] = faults.snapshot();
  expect([part, count, message]).toEqual(['server', 1, 'the process that returns a flooded socket ended with 1']);
  now = 59_999;
  expect(onFlood()).toBeUndefined();
  now = 60_000;
  await onFlood();
  expect(faults.snapshot()).toMatchObject([{ part: 'server', count: 2 }]);
  expect(await mostInOneTurn(server)).toBe(1);
});

test('a program that cannot start is a fault', async () => {
  const { server } = await serve();
  const faults = silentFaults();
  await acceptMore(server, { faults, program: ['/nonexistent'], maxConnections })();
  expect(faults.snapshot()).toMatchObject([{ part: 'server', message: 'spawn /nonexistent ENOENT' }]);
});

test('a program that returns nothing is a fault', async () => {
  const { server } = await serve();
  const faults = silentFaults();
  await acceptMore(server, { faults, program: ['/bin/true'], maxConnections })();
  expect(faults.snapshot()).toMatchObject([
    { part: 'server', message: 'the process that returns a flooded socket returned none' },
  ]);
});

test('without descriptors no program starts, and a flood a minute later tries again', async () => {
  const { server } = await serve();
  const faults = silentFaults();
  let now = 0;
  const onFlood = acceptMore(server, { faults, program, maxConnections, now: () => now });
  await withoutDescriptors(() => onFlood());
  expect(faults.snapshot()).toMatchObject([{ part: 'server', message: `spawn ${process.execPath} EMFILE` }]);
  now = 60_000;
  await onFlood();
  expect(await mostInOneTurn(server)).toBe(64);
});

/** Calls a function while this process can open no file. */
function withoutDescriptors<T>(call: () => T): T {
  const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  const limit = (count: string): unknown => execFileSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${count}:`]);
  // The files that are open stay below the limit, so that the last line can start its program.
  const highest = Math.max(...readdirSync('/proc/self/fd').map(Number));
  limit(`${highest + 64}`);
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    return call();
  } finally {
    for (const fd of taken) closeSync(fd);
    limit(soft);
  }
}

test('a server closed meanwhile gets no more connections', async () => {
  const { server, port } = await serve();
  const faults = silentFaults();
  const more = acceptMore(server, { faults, program, maxConnections })();
  await new Promise((resolve) => server.close(resolve));
  await more;
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  expect(faults.snapshot()).toEqual([]);
});

test.each([true, false])(
  'connections wait for others to fill a packet as those of the server do: noDelay %s',
  async (noDelay) => {
    const { server } = await serve({ noDelay });
    const settings = new Set<unknown>();
    server.on('connection', (socket) => settings.add(isWithoutDelay(socket)));
    await mostInOneTurn(server);
    await acceptMore(server, { faults: silentFaults(), program, maxConnections })();
    await mostInOneTurn(server);
    expect([...settings]).toEqual([noDelay]);
  },
);

test.each([true, false])('clients are probed as those of the server are: keepAlive %s', async (keepAlive) => {
  const { server } = await serve({ keepAlive, keepAliveInitialDelay: 15_000 });
  const probed: boolean[] = [];
  server.on('connection', (socket) => probed.push(isProbedWithin(socket, 15)));
  await mostInOneTurn(server);
  await acceptMore(server, { faults: silentFaults(), program, maxConnections })();
  await mostInOneTurn(server);
  expect(probed).toEqual(Array(200).fill(keepAlive));
});

/** By Node's own note of it, because the option of a socket cannot be read (node: lib/net.js kSetNoDelay). */
function isWithoutDelay(socket: object): boolean {
  const note = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'kSetNoDelay');
  if (note === undefined) throw new Error('Node has another note of TCP_NODELAY');
  return (socket as Record<symbol, unknown>)[note] === true;
}
