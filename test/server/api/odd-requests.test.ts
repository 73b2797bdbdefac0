import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { ApiRig } from './api-rig.ts';

const openRig = (): Promise<ApiRig> =>
  ApiRig.open({ tokens: new TokenUsers(parseTokens('good,anna,1', 'tokens.csv')) });

/** The whole answer but for its date. The server closes the connection. */
async function answerTo(rig: ApiRig, bytes: string): Promise<string> {
  const socket = await rig.connect();
  const answer = text(socket);
  socket.write(bytes);
  return (await answer).replace(/Date: .*\r\n/, '');
}

const usual = ['Host: node', 'Authorization: Bearer good', 'Connection: close'];
const head = (line: string, headers: readonly string[] = usual): string => `${[line, ...headers].join('\r\n')}\r\n\r\n`;
const get = (target: string): string => head(`GET ${target} HTTP/1.1`);

const broken = [
  'HTTP/1.1 400 Bad Request\r\n',
  'Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request',
].join('');

test.each([
  ['a method of no token', 'G{T /healthz HTTP/1.1\r\n\r\n', broken],
  [
    'a head that is too long',
    `GET /${'x'.repeat(40_000)} HTTP/1.1\r\n\r\n`,
    broken.replaceAll('400 Bad Request', '431 Request Header Fields Too Large'),
  ],
])('a request with %s gets the answer of Go', async (_what, bytes, answer) => {
  expect(await answerTo(await openRig(), bytes)).toBe(answer);
});

/** An answer of the handler to a request that Go refuses before its handler. */
const refused = (status: string, body = status): string =>
  [
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n`,
    `content-length: ${body.length}\r\n\r\n${body}`,
  ].join('');

test.each([
  ['without a host', head('GET /healthz HTTP/1.1', []), '400 Bad Request: missing required Host header'],
  ['with two hosts', head('GET /healthz HTTP/1.1', ['Host: node', ...usual]), '400 Bad Request'],
  ['with a broken host', head('GET /healthz HTTP/1.1', ['Host: a b']), '400 Bad Request: malformed Host header'],
  [
    'of another protocol',
    head('GET /healthz HTTP/2.0'),
    '505 HTTP Version Not Supported: unsupported protocol version',
  ],
  ['with a broken escape in its path', get('/healthz%zz'), '400 Bad Request'],
])('a request %s is refused as by Go', async (_what, bytes, answer) => {
  expect(await answerTo(await openRig(), bytes)).toBe(refused(answer));
});

const redirect = (location: string, body: string): string =>
  [
    `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${location}\r\ncontent-type: text/html; charset=utf-8\r\n`,
    `content-length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  ].join('');
const movedTo = (location: string, shown = location): string =>
  redirect(location, `<a href="${shown}">Temporary Redirect</a>.\n\n`);

test.each([
  ["//pods?a='b", movedTo("/pods?a='b", '/pods?a=&#39;b')],
  ['//pods?', movedTo('/pods')],
  // Go escapes what is escaped already.
  ['//a%20b', movedTo('/a%2520b')],
  ['//a!b', movedTo('/a%21b')],
  ['//a|b', movedTo('/a%257Cb')],
  // Go adds the slash to the decoded path.
  ['/%6cogs?x=1', movedTo('/logs/?x=1')],
  ['http://other/x/../pods', movedTo('/pods')],
  ['http://other', movedTo('/')],
])('%s is redirected as by Go', async (target, answer) => {
  expect(await answerTo(await openRig(), get(target))).toBe(answer);
});

test('a target names its path in every form that Go knows', async () => {
  const rig = await openRig();
  const line = (answer: string): string => [answer.split('\r\n')[0], answer.split('\r\n\r\n')[1]].join(' ');
  const targets = ['http://other/healthz', 'HTTPS://other:1/healthz?verbose', '/healthz#x', '/runningpods/%ff'];
  const answers = await Promise.all(targets.map(async (target) => line(await answerTo(rig, get(target)))));
  expect(answers).toEqual([
    'HTTP/1.1 200 OK ok',
    'HTTP/1.1 200 OK [+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n',
    'HTTP/1.1 404 Not Found 404 page not found\n',
    'HTTP/1.1 404 Not Found 404: Page Not Found',
  ]);
});

test('a star is a target for OPTIONS alone', async () => {
  const rig = await openRig();
  const answers = [
    await answerTo(rig, head('OPTIONS * HTTP/1.1', ['Host: node', 'Connection: close'])),
    await answerTo(rig, head('GET * HTTP/1.1', ['Host: node'])),
  ];
  expect(answers).toEqual([
    'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: close\r\n\r\n',
    'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
  ]);
});

test('an expectation that is not known is refused', async () => {
  const bytes = head('GET /healthz HTTP/1.1', ['Host: node', 'Expect: more']);
  expect(await answerTo(await openRig(), bytes)).toBe(
    'HTTP/1.1 417 Expectation Failed\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
  );
});

test('a client is asked for its body when a handler reads it, and not before it is let in', async () => {
  const rig = await openRig();
  const put = (token: string): string =>
    head('PUT /debug/flags/v HTTP/1.1', [
      ...['Host: node', `Authorization: Bearer ${token}`, 'Expect: 100-continue', 'Content-Length: 1'],
    ]);
  const stranger = await answerTo(rig, put('wrong'));
  const socket = await rig.connect();
  socket.write(put('good'));
  const [first] = (await once(socket, 'data')) as [Buffer];
  const rest = text(socket);
  socket.write('3');
  expect([stranger.split('\r\n')[0], first.toString(), (await rest).split('\r\n\r\n')[1]]).toEqual([
    'HTTP/1.1 401 Unauthorized',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'successfully set klog.logging.verbosity to 3\n',
  ]);
});

test('a client without TLS is told to use it', async () => {
  const rig = await openRig();
  const socket = rig.connectPlain();
  const answer = text(socket);
  socket.write(get('/healthz'));
  expect(await answer).toBe('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
  await rig.untilClosed();
});

test('a client without TLS that keeps its side open does not keep the connection', async () => {
  const rig = await openRig();
  const socket = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined).resume();
  socket.write(get('/healthz'));
  await once(socket, 'end');
  await rig.untilClosed();
  socket.destroy();
});
