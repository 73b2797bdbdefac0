import { once } from 'node:events';
import { type ClientHttp2Session, connect, type Settings } from 'node:http2';
import { expect, onTestFinished, test } from 'vitest';
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
    '301 <a href="/runningpods/">Moved Permanently</a>.\n\n',
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
