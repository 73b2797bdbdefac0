import { once } from 'node:events';
import { createServer as createHTTPServer, type IncomingMessage } from 'node:http';
import { createServer as createHTTPSServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Asking, podManifest } from '../../engine/config/polled/asking.ts';
import { type Certificate, CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { WebServer } from '../../fakes/web-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const web = podManifest('web');
const target = 'https://box.example/pods.yaml';

/** Listens on a loopback address until the test ends. Returns its URL. */
async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An agent that asks by way of a proxy with this behaviour, and the first connection to the proxy. */
async function askingBy(behave: (socket: Socket) => void, url = target) {
  const server = createServer();
  const proxy = await listening(server);
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const agent = await Asking.start({ url, proxyFor: () => proxy });
  const [socket] = await connected;
  const closed = new Promise<void>((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  behave(socket);
  return { agent, closed, socket };
}

test.each([target, 'http://box.example/pods.yaml'])(
  'a proxy that never answers a request for %s has no connection after the limit',
  async (url) => {
    const { agent, closed } = await askingBy((silent) => silent.resume(), url);
    await agent.clock.advance(10_000);
    expect(await agent.next()).toEqual({ pods: undefined, problems: ['error the server sent nothing for 10 s'] });
    await closed;
  },
);

/** Opens a tunnel, and waits for the begin of a TLS handshake. */
async function untilHandshake(socket: Socket): Promise<void> {
  await once(socket, 'data');
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  await once(socket, 'data');
}

test('a tunnel that leads nowhere is closed after the limit', async () => {
  const { agent, closed, socket } = await askingBy(() => undefined);
  await untilHandshake(socket);
  await agent.clock.advance(10_000);
  expect(await agent.next()).toEqual({ pods: undefined, problems: ['error the server sent nothing for 10 s'] });
  await closed;
});

test('a tunnel that breaks is a connection that was cut', async () => {
  const { agent, socket } = await askingBy(() => undefined);
  await untilHandshake(socket);
  socket.resetAndDestroy();
  const problems = ['error the connection was cut before the answer was complete'];
  expect(await agent.next()).toEqual({ pods: undefined, problems });
});

test('a proxy that never answers has no connection after the agent stops', async () => {
  const { agent, closed } = await askingBy((silent) => silent.resume());
  await agent.stop();
  await closed;
});

test('a proxy whose headers do not end is left after 16 KiB', async () => {
  const { agent, closed, socket } = await askingBy((endless) => {
    const more = (): void => {
      while (!endless.destroyed && endless.write(Buffer.alloc(64 * 1024, 'x')));
    };
    endless.resume().on('drain', more).write('HTTP/1.1 200 OK\r\nx: ');
    more();
  });
  expect(await agent.next()).toEqual({
    pods: undefined,
    problems: ['error the proxy: the headers of the answer are too large'],
  });
  await closed;
  // Buffers of the kernel have the rest.
  expect(socket.bytesWritten).toBeLessThan(32 * 1024 * 1024);
});

test.each([
  ['407 Proxy Authentication Required', 'error the proxy answered 407'],
  // An answer of the server would be followed.
  ['302 Found\r\nlocation: https://box.example/login', 'error the proxy answered 302'],
])('a proxy that opens no tunnel is not an answer of the server: %s', async (status, problem) => {
  const { agent, closed } = await askingBy((socket) => {
    socket.resume().end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
  });
  expect(await agent.next()).toEqual({ pods: undefined, problems: [problem] });
  await closed;
});

test.each([
  ['http://me:s3cret@[bad', 'its URL is not of the form http://HOST:PORT or https://HOST:PORT', ''],
  ['socks5://127.0.0.1:1', 'its URL is not of the form http://HOST:PORT or https://HOST:PORT', ''],
  ['http://127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1', 'Check the port, and that the server runs. '],
])('a failure of the proxy %s is not one of the server', async (proxy, message, hint) => {
  for (const url of [target, 'http://box.example/pods.yaml']) {
    const agent = await Asking.start({ url, proxyFor: () => proxy });
    await agent.next();
    expect(agent.recorder.problems).toEqual([
      {
        origin: url,
        severity: 'error',
        message: `the proxy: ${message}`,
        hint: `${hint}The proxy is that of HTTPS_PROXY or HTTP_PROXY.`,
      },
    ]);
  }
});

/** A proxy that opens tunnels, and the requests that it got. */
async function openProxy(tls?: Certificate): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = (tls === undefined ? createHTTPServer() : createHTTPSServer(tls)).on(
    'connect',
    (request: IncomingMessage, client: Socket) => {
      requests.push(request);
      const { hostname, port } = new URL(`http://${request.url ?? ''}`);
      const server = connect(Number(port), hostname, () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        server.pipe(client).pipe(server);
      });
      for (const end of [client, server]) end.on('error', () => undefined);
    },
  );
  return { url: await listening(server), requests };
}

test('a tunnel leads to the server, whose certificate is verified', async () => {
  const [ours, theirs] = await Promise.all([CertificateAuthority.make('ours'), CertificateAuthority.make('theirs')]);
  const server = await WebServer.start({ tls: await ours.issue('server'), host: '127.0.0.1' });
  server.answer = web;
  const folder = await temporaryFolder();
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, ours.own.cert);
  const proxy = await openProxy();
  const proxyFor = (): string => proxy.url.replace('//', '//me:mine%21@');
  const agent = await Asking.start({ url: server.url(), files: { caFile }, proxyFor });
  expect(await agent.next()).toEqual({ pods: ['web-edge1'], problems: [] });
  const [request] = proxy.requests;
  expect(request?.headers).toEqual({
    host: new URL(server.origin).host,
    connection: 'close',
    'proxy-authorization': `Basic ${Buffer.from('me:mine!').toString('base64')}`,
  });
  await writeFile(caFile, theirs.own.cert);
  expect((await agent.askAgain()).problems).toContain('error unable to verify the first certificate');
});

test('the authorities for the server may sign the certificate of the proxy, too', async () => {
  const ours = await CertificateAuthority.make('ours');
  const server = await WebServer.start({ tls: await ours.issue('server'), host: '127.0.0.1' });
  server.answer = web;
  const caFile = join(await temporaryFolder(), 'ca.pem');
  await writeFile(caFile, ours.own.cert);
  const proxy = await openProxy(await ours.issue('proxy'));
  const options = { url: server.url(), proxyFor: (): string => proxy.url.replace('http:', 'https:') };
  const trusting = await Asking.start({ ...options, files: { caFile } });
  expect(await trusting.next()).toEqual({ pods: ['web-edge1'], problems: [] });
  const other = await Asking.start(options);
  expect(await other.next()).toEqual({
    pods: undefined,
    problems: ['error the proxy: unable to verify the first certificate'],
  });
  expect(other.recorder.problems[0]?.hint).toBe(
    'Name the authority that signed it with --manifest-url-ca-file. The proxy is that of HTTPS_PROXY or HTTP_PROXY.',
  );
});
