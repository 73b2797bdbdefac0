import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { OriginFailure } from '../../../src/engine/config/polled/origin-failure.ts';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import { postJSON, type StatusServer } from '../../../src/origins/http/post-json.ts';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { type Answer, ownLoopbackAddress, WebServer } from '../../fakes/web-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const body = '{"nodeName":"edge1"}';

/** Posts to a server with this answer. */
async function posting(answer: Answer, options: Partial<StatusServer> & { url?: URL } = {}) {
  const server = await WebServer.start();
  server.answer = answer;
  const clock = new FakeClock();
  const ended = new AbortController();
  const url = new URL(server.url('/status'));
  const posted = postJSON(
    { url, headers: [], files: {}, proxyFor: () => undefined, clock, ...options },
    body,
    ended.signal,
  );
  posted.catch(() => undefined);
  return { server, clock, ended, posted };
}

async function failureOf(posted: Promise<unknown>): Promise<Partial<OriginFailure>> {
  const failure = await posted.then(
    () => undefined,
    (error: unknown) => error as OriginFailure,
  );
  return { message: failure?.message ?? '', hint: failure?.hint ?? '', retryAfterMs: failure?.retryAfterMs };
}

test.each([200, 201, 202, 204])('an answer of %i accepts the body', async (status) => {
  let received = '';
  const { posted, server } = await posting((request, response) => {
    void text(request).then((all) => {
      received = all;
      response.writeHead(status).end();
    });
  });
  expect(await posted).toEqual([]);
  expect(received).toBe(body);
  expect(server.requests.items[0]).toMatchObject({
    method: 'POST',
    url: '/status',
    headers: { 'content-type': 'application/json', 'content-length': '20' },
  });
});

test('credentials are sent over TLS, and the token is redacted from now on', async () => {
  const folder = await temporaryFolder();
  const authority = await CertificateAuthority.make('authority of home');
  await writeFile(join(folder, 'ca.pem'), authority.own.cert);
  await writeFile(join(folder, 'token'), 's3cret-token\n', { mode: 0o600 });
  const host = ownLoopbackAddress();
  const server = await WebServer.start({ host, tls: await authority.issue('home', { ips: [host] }) });
  server.answer = '';
  const secrets = new SecretValues();
  await postJSON(
    {
      url: new URL(server.url('/status?box=1')),
      headers: [['X-Site', 'north']],
      files: { caFile: join(folder, 'ca.pem'), tokenFile: join(folder, 'token') },
      proxyFor: () => undefined,
      secrets,
      clock: new FakeClock(),
    },
    body,
    new AbortController().signal,
  );
  expect(server.requests.items[0]).toMatchObject({
    url: '/status?box=1',
    headers: { authorization: 'Bearer s3cret-token', 'x-site': 'north' },
  });
  expect(secrets.hide('token s3cret-token')).toBe('token <hidden>');
});

test.each<[Answer, Partial<OriginFailure>]>([
  [{ status: 500 }, { message: 'the server answered 500', hint: expect.stringContaining("server's log") as string }],
  [
    { status: 401 },
    { message: 'the server answered 401', hint: expect.stringContaining('--status-url-token-file') as string },
  ],
  [
    { status: 503, headers: { 'retry-after': '120' } },
    { message: 'the server answered 503', retryAfterMs: 120_000 },
  ],
  [
    { status: 307, headers: { location: '/elsewhere' } },
    { message: 'the server answered 307, a redirect, which is not followed' },
  ],
  [
    (_, response) => response.destroy(),
    { message: 'the connection was cut before the answer was complete', retryAfterMs: undefined },
  ],
])('a refusal says what to do %#', async (answer, failure) => {
  const { posted, server } = await posting(answer);
  expect(await failureOf(posted)).toMatchObject(failure);
  expect(server.requests.items).toHaveLength(1);
});

test.each([
  ['SSH-2.0-OpenSSH_9.2\r\n', 'the server does not speak HTTP'],
  [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 'the headers of the answer are too large'],
  ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n', 'the server answered 101'],
])('an answer that is not HTTP as we expect it is explained at once %#', async (answer, message) => {
  const { posted } = await posting(({ socket }) => socket.end(answer));
  expect(await failureOf(posted)).toMatchObject({ message });
});

test('an authority that is not trusted is a hint at the flags of status URLs', async () => {
  const authority = await CertificateAuthority.make('authority of home');
  const host = ownLoopbackAddress();
  const server = await WebServer.start({ host, tls: await authority.issue('home', { ips: [host] }) });
  const { posted } = await posting('', { url: new URL(server.url('/status')) });
  expect(await failureOf(posted)).toMatchObject({ hint: expect.stringContaining('--status-url-ca-file') as string });
});

test('an answer of any length is not read', async () => {
  let sentBytes = 0;
  let close = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  const chunk = Buffer.alloc(64 * 1024);
  const { posted } = await posting((_, response) => {
    const flood = (): void => {
      if (response.destroyed) return;
      sentBytes += chunk.length;
      response.write(chunk, flood);
    };
    response.writeHead(200).once('close', close);
    flood();
  });
  expect(await posted).toEqual([]);
  await closed;
  expect(sentBytes).toBeLessThan(32 * 1024 * 1024);
});

test('a server that never answers is left after a minute', async () => {
  const { posted, clock, server } = await posting(() => undefined);
  await server.requests.next(() => true);
  await clock.advance(60_000);
  expect(await failureOf(posted)).toMatchObject({ message: 'the server did not answer within 60 s' });
});

test('a stop of the agent ends a post', async () => {
  const { posted, ended, server } = await posting(() => undefined);
  await server.requests.next(() => true);
  ended.abort(new Error('the agent stops'));
  await expect(posted).rejects.toThrow('the agent stops');
});
