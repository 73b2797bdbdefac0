import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HealthSLIs } from '../../../src/server/metrics/health-slis.ts';
import { systemClock } from '../../../src/clock.ts';
import { HTTPCounts } from '../../../src/server/metrics/http-counts.ts';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { ApiRig, inParts, openReadOnly } from './api-rig.ts';

/** A request over a connection that goes on. */
const get = (path: string, ...headers: readonly string[]): string =>
  `${[`GET ${path} HTTP/1.1`, 'Host: node', 'Authorization: Bearer good', ...headers].join('\r\n')}\r\n\r\n`;
const upgrade = get('/healthz', 'Connection: Upgrade', 'Upgrade: x');
const last = (path: string): string => get(path, 'Connection: close');

/** A server whose pages of metrics take several turns of the event loop, and when they begin and end. */
async function slowPages(): Promise<{ rig: ApiRig; steps: string[] }> {
  const steps: string[] = [];
  const parts = async (path: string): Promise<Generator<Buffer, void>> => {
    steps.push(`begin ${path}`);
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    steps.push(`end ${path}`);
    return inParts(`page ${path}\n`);
  };
  const metrics = { parts, binaryParts: parts, health: new HealthSLIs(), http: new HTTPCounts(systemClock) };
  return { rig: await ApiRig.open({ metrics, tokens: new TokenUsers(parseTokens('good,anna,1', 't.csv')) }), steps };
}

/** All that the server sends until it closes the connection, for these bytes in one piece. */
async function answersTo(rig: ApiRig, bytes: string): Promise<string[]> {
  const socket = await rig.connect();
  socket.on('error', () => undefined).write(bytes);
  return (await text(socket)).match(/page \S+|HTTP\/1.1 (?!200)\d+/g) ?? [];
}

/** Requests that have begun, and those among them that have not ended. */
function totals(counts: HTTPCounts): { begun: number; inFlight: number } {
  const [inFlight = 0, , begun = 0] = counts
    .families()
    .map(({ samples }) => [...samples].reduce((sum, { value }) => sum + value, 0));
  return { begun, inFlight };
}

test('requests that come together over one connection are handled one after another', async () => {
  const { rig, steps } = await slowPages();
  const paths = ['/metrics', '/metrics/cadvisor', '/metrics/probes', '/metrics/resource'];
  const answers = await answersTo(
    rig,
    `${paths
      .slice(0, 3)
      .map((path) => get(path))
      .join('')}${last('/metrics/resource')}`,
  );
  expect({ answers, steps }).toEqual({
    answers: paths.map((path) => `page ${path}`),
    steps: paths.flatMap((path) => [`begin ${path}`, `end ${path}`]),
  });
});

test('connections do not wait for each other', async () => {
  const { rig, steps } = await slowPages();
  const sockets = await Promise.all([rig.connect(), rig.connect()]);
  for (const socket of sockets) socket.write(last('/metrics'));
  await Promise.all(sockets.map((socket) => text(socket)));
  expect(steps).toEqual(['begin /metrics', 'begin /metrics', 'end /metrics', 'end /metrics']);
});

test('nothing after an answer that ends its connection is handled', async () => {
  const { rig, steps } = await slowPages();
  expect(await answersTo(rig, `${get('/healthz%zz')}${get('/metrics')}`)).toEqual(['HTTP/1.1 400']);
  expect(steps).toEqual([]);
});

test('requests that wait are not handled once their client is gone', async () => {
  const { rig, steps } = await slowPages();
  const socket = await rig.connect();
  const asked = once(rig.secure.server, 'request');
  socket.write(get('/metrics').repeat(3));
  await asked;
  socket.destroy();
  await rig.untilClosed();
  expect(steps.filter((step) => step.startsWith('begin'))).toEqual(['begin /metrics']);
});

test('a client that sends thousands of requests without reading an answer is closed, and one was handled', async () => {
  const { port, counts } = await openReadOnly();
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write('GET /pods HTTP/1.1\r\nHost:\r\n\r\n'.repeat(2200));
  await once(socket.resume(), 'close');
  expect(totals(counts)).toEqual({ begun: 1, inFlight: 0 });
});

test('a request may have 16 behind it', async () => {
  const { rig } = await slowPages();
  const answers = await answersTo(rig, `${get('/metrics').repeat(16)}${last('/metrics')}`);
  expect(answers).toEqual(Array<string>(17).fill('page /metrics'));
});

test('an upgrade behind an unfinished answer ends its connection, and breaks nothing', async () => {
  const { rig } = await slowPages();
  expect(await answersTo(rig, `${get('/metrics')}${upgrade}`)).toEqual([]);
  expect([await answersTo(rig, last('/metrics')), rig.problems]).toEqual([['page /metrics'], []]);
});

test('an upgrade after an answer is answered', async () => {
  const { rig } = await slowPages();
  const socket = await rig.connect();
  socket.write(get('/healthz'));
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.write(upgrade);
  const answers = [first.toString(), await text(socket)];
  expect(answers.map((answer) => answer.split('\r\n\r\n')[1])).toEqual(['ok', 'ok']);
});
