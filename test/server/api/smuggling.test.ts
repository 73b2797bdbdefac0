import { once } from 'node:events';
import { expect, test } from 'vitest';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { ApiRig } from './api-rig.ts';

/** A request in the body of another one, which would be answered if the two ends were to be read in different ways. */
const hidden = 'GET /pods HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer good\r\n\r\n';

async function statusesOf(rig: ApiRig, bytes: string): Promise<string[]> {
  const socket = await rig.connect();
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close');
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);
}

const head = (...lines: string[]): string =>
  `${['POST /stats/summary HTTP/1.1', 'Host: node', 'Authorization: Bearer good', ...lines].join('\r\n')}\r\n\r\n`;

test.each([
  [
    'a length and chunks',
    head(`Content-Length: ${hidden.length}`, 'Transfer-Encoding: chunked') + `0\r\n\r\n${hidden}`,
  ],
  ['two lengths', head('Content-Length: 0', `Content-Length: ${hidden.length}`) + hidden],
  ['an unknown encoding', head('Transfer-Encoding: xchunked') + hidden],
  ['a space before the colon', head('Transfer-Encoding : chunked') + `0\r\n\r\n${hidden}`],
  ['a length that is no number', head('Content-Length: 0x0') + hidden],
  ['a negative length', head('Content-Length: -1') + hidden],
  ['a folded header', head('Transfer-Encoding:', ' chunked') + `0\r\n\r\n${hidden}`],
  ['a bare carriage return', head('X: a\rTransfer-Encoding: chunked') + `0\r\n\r\n${hidden}`],
])('a request with %s is refused, and nothing after it is read', async (_what, bytes) => {
  const tokens = new TokenUsers(parseTokens('good,anna,1', 'tokens.csv'));
  const rig = await ApiRig.open({ tokens });
  expect(await statusesOf(rig, bytes)).toEqual(['400']);
});

test('every request of a connection shows its own credentials', async () => {
  const tokens = new TokenUsers(parseTokens('good,anna,1', 'tokens.csv'));
  const rig = await ApiRig.open({ tokens });
  const bare = 'GET /pods HTTP/1.1\r\nHost: node\r\n\r\n';
  const last = hidden.replace('Host', 'Connection: close\r\nHost');
  expect(await statusesOf(rig, hidden + bare + last)).toEqual(['200', '401', '200']);
});
