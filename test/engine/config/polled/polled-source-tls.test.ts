import { chmod, rename, writeFile } from 'node:fs/promises';
import type { ServerOptions } from 'node:https';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HTTPCredentialFiles } from '../../../../src/origins/http/http-credentials.ts';
import { SecretValues } from '../../../../src/engine/redaction/secret-values.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { type Certificate, CertificateAuthority } from '../../../fakes/certificate-authority.ts';
import { type Answer, WebServer } from '../../../fakes/web-server.ts';
import { Asking, podManifest } from './asking.ts';

const web = podManifest('web');
const webRuns = { pods: ['web-edge1'], problems: [] };
const day = 86_400_000;

let authority: CertificateAuthority;
let other: CertificateAuthority;
let own: Certificate;
let folder: string;

beforeAll(async () => {
  [authority, other] = await Promise.all([CertificateAuthority.make('ours'), CertificateAuthority.make('theirs')]);
  own = await authority.issue('server');
});
beforeEach(async () => {
  folder = await temporaryFolder();
});

/** A file that only we may read; it is replaced, as those who rotate secrets do. */
async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return path;
}

/** An HTTPS server, and an agent that believes its authority. */
async function asking(
  tls: ServerOptions = own,
  {
    answer = web,
    files = {},
    secrets = new SecretValues(),
  }: { answer?: Answer; files?: HTTPCredentialFiles; secrets?: SecretValues } = {},
) {
  const server = await WebServer.start({ tls, host: '127.0.0.1' });
  server.answer = answer;
  const caFile = await file('ca.pem', authority.own.cert);
  const agent = await Asking.start({ url: server.url(), files: { caFile, ...files }, secrets });
  return { server, agent };
}

describe('the certificate of a server', () => {
  test('is believed when our authority signed it', async () => {
    const { agent } = await asking();
    expect(await agent.next()).toEqual(webRuns);
  });

  const refusals: [string, () => Promise<Certificate>, string, string][] = [
    [
      'another authority signed it',
      () => other.issue('server'),
      'error unable to verify the first certificate',
      'Name the authority that signed it with --manifest-url-ca-file.',
    ],
    [
      'it expired',
      () =>
        authority.issue('server', { notBefore: new Date(Date.now() - 2 * day), notAfter: new Date(Date.now() - day) }),
      'error certificate has expired',
      "Renew the server's certificate, or set the clock of this machine.",
    ],
    [
      'it is not valid yet',
      () => authority.issue('server', { notBefore: new Date(Date.now() + day) }),
      'error certificate is not yet valid',
      'Set the clock of this machine.',
    ],
    [
      'it is for another address',
      () => authority.issue('server', { ips: ['192.0.2.1'] }),
      "error the server's certificate is for another name",
      'Use the name of the certificate in the URL, or issue a certificate for the name in the URL.',
    ],
  ];
  test.each(refusals)('is not believed when %s, and nothing is asked', async (_when, issue, problem, hint) => {
    const { agent, server } = await asking(await issue());
    expect(await agent.next()).toEqual({ pods: undefined, problems: [problem] });
    expect(agent.recorder.problems).toMatchObject([{ hint }]);
    expect(server.requests.items).toEqual([]);
  });

  test('may be of a new authority, once that is in the file', async () => {
    const { agent, server } = await asking(await other.issue('server'));
    expect((await agent.next()).pods).toBeUndefined();
    await file('ca.pem', other.own.cert);
    expect(await agent.askAgain()).toEqual(webRuns);
    expect(server.requests.items).toHaveLength(1);
  });

  test('has to be there: a server without TLS is reported as such', async () => {
    const plain = await WebServer.start();
    const agent = await Asking.start({ url: plain.url().replace('http:', 'https:') });
    expect(await agent.next()).toEqual({ pods: undefined, problems: ['error the server does not speak TLS'] });
  });

  test('of nobody is believed without an authority of ours', async () => {
    const server = await WebServer.start({ tls: own, host: '127.0.0.1' });
    const agent = await Asking.start({ url: server.url() });
    expect((await agent.next()).problems).toEqual(['error unable to verify the first certificate']);
  });
});

describe('a server that wants a client certificate', () => {
  const strict = (): ServerOptions => ({ ...own, ca: authority.own.cert, requestCert: true, rejectUnauthorized: true });
  const client = async ({ cert, key }: Certificate): Promise<HTTPCredentialFiles> => ({
    certFile: await file('cert.pem', cert),
    keyFile: await file('key.pem', key),
  });

  test('gets ours', async () => {
    const { agent } = await asking(strict(), { files: await client(await authority.issue('edge1')) });
    expect(await agent.next()).toEqual(webRuns);
  });

  test.each([
    ['none', undefined],
    ['one that it does not believe', (): Promise<Certificate> => other.issue('edge1')],
  ])('and got %s is distinguished', async (_what, issue) => {
    const files = issue === undefined ? {} : await client(await issue());
    const { agent, server } = await asking(strict(), { files });
    expect((await agent.next()).problems).toEqual([expect.stringMatching(/^error (TLS|the connection was cut)/)]);
    expect(server.requests.items).toEqual([]);
  });

  test('gets the new one after it was replaced', async () => {
    const { agent } = await asking(strict(), { files: await client(await other.issue('edge1')) });
    expect((await agent.next()).pods).toBeUndefined();
    await client(await authority.issue('edge1'));
    expect(await agent.askAgain()).toEqual(webRuns);
  });

  test('is not asked with a certificate of another key, as in the middle of a replacement', async () => {
    const [one, two] = await Promise.all([authority.issue('edge1'), authority.issue('edge1')]);
    const { agent } = await asking(strict(), { files: await client({ cert: one.cert, key: two.key }) });
    expect((await agent.next()).problems).toEqual(['error the client certificate does not match its key']);
  });
});

describe('a bearer token', () => {
  /** A server that lets in who has this token. */
  const guarded =
    (token: string): Answer =>
    (request, response) => {
      const isKnown = request.headers.authorization === `Bearer ${token}`;
      response.writeHead(isKnown ? 200 : 401).end(isKnown ? web : '');
    };

  test('is sent, and read again from its file', async () => {
    const tokenFile = await file('token', 'first\n');
    const { agent, server } = await asking(own, { answer: guarded('first'), files: { tokenFile } });
    expect(await agent.next()).toEqual(webRuns);
    server.answer = guarded('second');
    expect((await agent.askAgain()).problems).toEqual(['error the server answered 401', expect.any(String)]);
    await file('token', 'second');
    expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [] });
  });

  test('is hidden, also when the file has another one', async () => {
    const secrets = new SecretValues();
    const files = { tokenFile: await file('token', 'first-token\n') };
    const { agent } = await asking(own, { answer: guarded('first-token'), files, secrets });
    await agent.next();
    expect(secrets.hide('first-token')).toBe('<hidden>');
    await file('token', 'second-token');
    await agent.askAgain();
    expect(secrets.hide('first-token second-token')).toBe('<hidden> <hidden>');
  });

  test('goes to no other server, not even to one with our certificate', async () => {
    const tls = await authority.issue('elsewhere', { ips: ['127.0.0.2'] });
    const elsewhere = await WebServer.start({ tls, host: '127.0.0.2' });
    elsewhere.answer = web;
    const tokenFile = await file('token', 'first');
    const answer = { status: 307, headers: { location: elsewhere.url() } };
    const { agent } = await asking(own, { answer, files: { tokenFile } });
    expect((await agent.next()).problems).toEqual([
      `error the server redirects to another one, ${elsewhere.origin}, which is not followed`,
    ]);
    expect(elsewhere.requests.items).toEqual([]);
  });

  test.each([
    ['no file', undefined, /^error cannot be requested: ENOENT/],
    ['an empty file', '\n', /^error cannot be requested: .*token contains no token$/],
    ['several words', 'first second', /^error cannot be requested: .*token contains no token$/],
  ])('that is %s keeps the server from being asked, and is not shown', async (_what, content, problem) => {
    const tokenFile = content === undefined ? join(folder, 'token') : await file('token', content);
    const { agent, server } = await asking(own, { files: { tokenFile } });
    expect((await agent.next()).problems).toEqual([expect.stringMatching(problem)]);
    expect(server.requests.items).toEqual([]);
    expect(JSON.stringify(agent.recorder.problems)).not.toContain('second');
    await file('token', 'first');
    expect(await agent.askAgain()).toEqual(webRuns);
  });

  test('that everybody may read is warned of, as is such a key', async () => {
    const { cert, key } = await authority.issue('edge1');
    const files = {
      tokenFile: await file('token', 'first'),
      certFile: await file('cert.pem', cert),
      keyFile: await file('key.pem', key),
    };
    for (const path of Object.values(files)) await chmod(path, 0o644);
    const { agent } = await asking(own, { files });
    const warning = 'warning every user of this machine may read this secret';
    expect(await agent.next()).toEqual({ pods: ['web-edge1'], problems: [warning, warning] });
    expect(agent.recorder.problems.map(({ origin }) => origin)).toEqual([files.keyFile, files.tokenFile]);
    await chmod(files.keyFile, 0o600);
    await chmod(files.tokenFile, 0o640);
    expect((await agent.askAgain()).problems).toEqual([]);
  });
});
