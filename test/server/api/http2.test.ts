import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type ClientHttp2Session, connect, constants, type Settings } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { addHTTP2 } from '../../../src/server/api/http2.ts';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { ApiRig } from './api-rig.ts';

async function session(rig: ApiRig): Promise<ClientHttp2Session> {
  const client = await rig.authority.issue('carol');
  const made = connect(`https://127.0.0.1:${rig.port}`, { rejectUnauthorized: false, ...client });
  made.on('error', () => undefined);
  onTestFinished(() => {
    made.destroy();
  });
  await once(made, 'connect');
  return made;
}

async function get(client: ClientHttp2Session, path: string, method = 'GET'): Promise<string> {
  const stream = client.request({ ':path': path, ':method': method });
  let status = '';
  let text = '';
  stream.on('response', (headers) => {
    status = String(headers[':status']);
  });
  stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(stream, 'close');
  return `${status} ${text}`;
}

test('HTTP/2 gets the answers of HTTP/1.1, many over one connection', async () => {
  const rig = await ApiRig.open();
  const client = await session(rig);
  const paths = ['/healthz', '/nosuch', '/runningpods', '/metrics/probes', '/exec/default/web/a?output=1'];
  const answers = await Promise.all(paths.map((path) => get(client, path)));
  expect(answers).toEqual([
    '200 ok',
    '404 404 page not found\n',
    '307 <a href="/runningpods/">Temporary Redirect</a>.\n\n',
    '200 # metrics of /metrics/probes\n',
    '500 rpc error: code = Unknown desc = scripted',
  ]);
});

test('a connection over HTTP/2 without a certificate gets 401', async () => {
  const rig = await ApiRig.open();
  const made = connect(`https://127.0.0.1:${rig.port}`, { rejectUnauthorized: false });
  onTestFinished(() => {
    made.destroy();
  });
  expect(await get(made, '/pods')).toBe('401 Unauthorized');
});

test('one connection over HTTP/2 has at most 16 requests at a time', async () => {
  const rig = await ApiRig.open();
  const client = connect(`https://127.0.0.1:${rig.port}`, { rejectUnauthorized: false });
  onTestFinished(() => {
    client.destroy();
  });
  const [settings] = (await once(client, 'remoteSettings')) as [Settings];
  expect(settings.maxConcurrentStreams).toBe(16);
});

test('a stream is not a request of HTTP/2', async () => {
  const exec = (): Promise<{ url: string }> => Promise.resolve({ url: 'http://127.0.0.1:1/exec/token' });
  const rig = await ApiRig.open({ runtime: { exec } });
  const answer = await get(await session(rig), '/exec/default/web/a?output=1', 'POST');
  expect(answer).toBe('500 Upgrade request required\n');
});

test('requests beyond the limit over all connections are refused, and can be sent again', async () => {
  const { cert, key } = await (await CertificateAuthority.make('ca')).issue('node');
  const server = createServer({ cert, key, ALPNProtocols: ['h2', 'http/1.1'] }).listen(0, '127.0.0.1');
  const end = addHTTP2(server, { maxRequests: 2, maxSilenceMs: 60_000, idleMs: 60_000 });
  await once(server, 'listening');
  onTestFinished(() => {
    end();
    server.close();
  });
  const answers: ServerResponse[] = [];
  const begun = new Promise<void>((resolve) => {
    server.on('request', (_request, response) => {
      answers.push(response);
      if (answers.length === 2) resolve();
    });
  });
  const open = (): ClientHttp2Session => {
    const { port } = server.address() as AddressInfo;
    const made = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    onTestFinished(() => {
      made.destroy();
    });
    return made;
  };
  const [first, second] = [open(), open()];
  const early = [get(first, '/'), get(second, '/')];
  await begun;
  const refused = second.request({ ':path': '/' });
  await expect(once(refused, 'response')).rejects.toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' });
  expect(refused.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);
  for (const response of answers.splice(0)) response.end('ok');
  expect(await Promise.all(early)).toEqual(['200 ok', '200 ok']);
  const again = get(second, '/');
  while (answers.length === 0) await nextTurn();
  answers[0]?.end('again');
  expect(await again).toBe('200 again');
});

test('a certificate that is replaced breaks no connection, and there is none that fails', async () => {
  const rig = await ApiRig.open();
  const client = await session(rig);
  const certificate = await rig.authority.issue('carol');
  const answers: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    const fresh = rig.short('GET /healthz', { client: certificate });
    rig.secure.replace(await rig.authority.issue(`node${round}`), rig.authority.own.cert);
    answers.push(await fresh, await get(client, '/healthz'));
  }
  expect(new Set(answers)).toEqual(new Set(['200 ok']));
});

test('a refusal over HTTP/2 has no header of the connection, of which Node would warn', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const client = await session(await ApiRig.open());
  const stream = client.request({
    ':path': '/exec/default/web/a',
    ':method': 'POST',
    'content-type': 'application/x-www-form-urlencoded',
  });
  const answer = text(stream);
  stream.end(`cmd=${'x'.repeat(65 * 1024)}`);
  expect([await answer, warnings]).toEqual(['http: POST too large', []]);
});
