import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { finished } from 'node:stream/promises';
import { once } from 'node:events';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';
import { ApiRig } from './api-rig.ts';

const pathPart = fc.constantFrom(
  ...['', 'pods', 'runningpods', 'healthz', 'ping', 'stats', 'summary', 'metrics', 'cadvisor', 'exec', 'attach', 'run'],
  ...['portForward', 'containerLogs', 'checkpoint', 'configz', 'logs', 'debug', 'flags', 'v', 'pprof', 'cmdline'],
  ...['default', 'web', 'a', 'uid-web', '..', '.', '%2e%2e', '%2f', '%00', '%zz', '%', ';', '<x>', 'ä', 'a%0d%0ab'],
);
const queryPart = fc.constantFrom(
  ...['command=ls', 'output=1', 'input=1', 'tty=1', 'error=1', 'follow=0', 'tailLines=-1', 'limitBytes=x', 'verbose'],
  ...[
    'exclude=ping',
    'port=1',
    'port=x',
    'timeout=x',
    'query=/x',
    'query=a',
    'seconds=x',
    'debug=1',
    '%',
    'a;b',
    '=&&',
  ],
);
const anything = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'PROPFIND', 'get'),
  path: fc.array(pathPart, { maxLength: 6 }).map((parts) => `/${parts.join('/')}`),
  query: fc.array(queryPart, { maxLength: 4 }).map((parts) => (parts.length === 0 ? '' : `?${parts.join('&')}`)),
  token: fc.constantFrom('', 'good', 'none', 'garbage', 'x'.repeat(5000)),
  accept: fc.constantFrom('', '*/*', 'application/json', ';;,', 'text/html;q=x'),
  range: fc.constantFrom('', 'bytes=0-', 'bytes=-', 'x'),
  body: fc.string({ maxLength: 60 }),
});

type Asked = typeof anything extends fc.Arbitrary<infer T> ? T : never;

/** Bytes that are no request, or the start of one. */
const noise = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(
    'GET / HTTP/1.1\r\n',
    'GET /pods HTTP/9.9\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\r\n\r\n',
    '\0',
  ),
);

test(
  'no random request is answered without credentials, breaks a handler or leaves a connection',
  async () => {
    const tokens = new TokenUsers(parseTokens('good,anna,1', 'tokens.csv'));
    const rig = await ApiRig.open({ tokens });
    const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
    onTestFinished(() => {
      agent.destroy();
    });
    let asked = 0;
    const isFine = async (one: Asked): Promise<void> => {
      asked += 1;
      const { method, path, query, token, accept, range, body } = one;
      const headers = {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        accept,
        range,
        'content-length': Buffer.byteLength(body),
      };
      const sent = request({
        agent,
        host: '127.0.0.1',
        port: rig.port,
        method,
        headers,
        path: encodeURI(path + query),
      });
      sent.end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      await finished(answer.resume());
      const status = answer.statusCode ?? 0;
      if (token !== 'good') expect([307, 400, 401, 404]).toContain(status);
      expect(status).toBeLessThan(600);
    };
    await fc.assert(
      fc.asyncProperty(anything, noise, fc.nat(20), async (one, bytes, dice) => {
        await isFine(one);
        // A handshake costs as much as many requests.
        if (dice > 0) return;
        const socket = await rig.connect();
        socket.on('error', () => undefined).resume();
        socket.end(bytes, 'latin1');
        await once(socket, 'close');
      }),
      propertyRuns(300),
    );
    expect(asked).toBeGreaterThan(0);
    expect(rig.problems).toEqual([]);
    agent.destroy();
    await rig.untilClosed();
  },
  propertyTimeoutMs,
);
