import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { get } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { openAPI } from '../../src/node/open-api.ts';
import type { Logger } from '../../src/logger.ts';
import { AgentMetrics } from '../../src/server/metrics/agent-metrics.ts';
import { optionsOf } from '../golden-runner/start-case.ts';
import { CertificateAuthority } from '../fakes/certificate-authority.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { apiDeps } from '../server/api/api-rig.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

const configHeader = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

/** A log that tells a waiting test about each message. */
function waitingLog(): { logger: Logger; logged: (message: string) => Promise<void> } {
  const waiting = new Map<string, () => void>();
  const write = (_facts: unknown, message?: string): void => waiting.get(message ?? '')?.();
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  const logged = (message: string): Promise<void> =>
    new Promise((resolve) => {
      waiting.set(message, resolve);
    });
  return { logger, logged };
}

test('a pair or client CA whose files change is taken within a minute, without a gap, and a damaged one is not', async () => {
  const folder = await temporaryFolder();
  const authority = await CertificateAuthority.make('ca');
  const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const give = async (name: string): Promise<void> => {
    const pair = await authority.issue(name);
    await writeFile(cert, pair.cert);
    await writeFile(key, pair.key);
  };
  await give('first');
  await writeFile(ca, authority.own.cert);
  const port = await freePort();
  const options = await optionsOf([
    ...[`--tls-cert-file=${cert}`, `--tls-private-key-file=${key}`, `--client-ca-file=${ca}`, `--port=${port}`],
    ...['--address=127.0.0.1', '--authorization-mode=AlwaysAllow', `--root-dir=${folder}`, '--read-only-port=0'],
  ]);
  const clock = new FakeClock();
  const { logger, logged } = waitingLog();
  const { engine, runtime } = apiDeps();
  const metrics = new AgentMetrics(clock);
  const setVerbosity = (): void => undefined;
  const api = await openAPI(options, { engine, runtime, metrics, clock, faults: silentFaults(), logger, setVerbosity });
  onTestFinished(() => {
    api.close();
  });
  const client = await authority.issue('carol');
  const open = async (certificate = client): Promise<TLSSocket> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...certificate });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const asks = async (socket: TLSSocket): Promise<string> => {
    socket.write('GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return `${String(socket.getPeerCertificate().subject.CN)} ${answer.toString().slice(9, 12)}`;
  };
  const early = await open();
  expect(await asks(early)).toBe('first 200');

  await give('second');
  const taken = logged('The HTTPS API uses a new certificate');
  await clock.advance(60_000);
  await taken;
  expect(await asks(await open())).toBe('second 200');
  expect(await asks(early)).toBe('first 200');

  const otherAuthority = await CertificateAuthority.make('other');
  const stranger = await otherAuthority.issue('dave');
  expect(await asks(await open(stranger))).toBe('second 401');
  await writeFile(ca, otherAuthority.own.cert);
  const takenAgain = logged('The HTTPS API uses a new certificate');
  await clock.advance(60_000);
  await takenAgain;
  expect(await asks(await open(stranger))).toBe('second 200');

  await writeFile(ca, '');
  const keptCA = logged('The HTTPS API keeps its certificate');
  await clock.advance(60_000);
  await keptCA;
  expect(await asks(await open(stranger))).toBe('second 200');
  expect(await asks(await open(client))).toBe('second 401');
  await writeFile(ca, otherAuthority.own.cert);

  await writeFile(key, 'damaged');
  const kept = logged('The HTTPS API keeps its certificate');
  await clock.advance(60_000);
  await kept;
  expect(await asks(await open(stranger))).toBe('second 200');
});

test('a reload takes tokens and rules, and one broken file keeps them all', async () => {
  const folder = await temporaryFolder();
  const [tokens, rules] = ['tokens.csv', 'policy.yaml'].map((name) => join(folder, name)) as [string, string];
  const allow = (verb: string): string => `rules: [{ users: [carol], verbs: [${verb}], resources: ['nodes/*'] }]`;
  await writeFile(tokens, 'first-token,carol,1\n', { mode: 0o600 });
  await writeFile(rules, allow('get'));
  const port = await freePort();
  const options = await optionsOf([
    ...[`--token-auth-file=${tokens}`, `--authorization-policy-file=${rules}`, `--port=${port}`],
    ...['--address=127.0.0.1', `--root-dir=${folder}`, '--read-only-port=0'],
  ]);
  const clock = new FakeClock();
  const { engine, runtime } = apiDeps();
  const deps = {
    engine,
    runtime,
    metrics: new AgentMetrics(clock),
    clock,
    faults: silentFaults(),
    logger: silentLogger,
  };
  const api = await openAPI(options, { ...deps, setVerbosity: () => undefined });
  onTestFinished(() => {
    api.close();
  });
  const statusOf = (token: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      get({ port, host: '127.0.0.1', path: '/pods', rejectUnauthorized: false, headers, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  const statuses = (): Promise<unknown[]> => Promise.all(['first-token', 'second-token'].map(statusOf));
  expect(await statuses()).toEqual([200, 401]);

  await writeFile(tokens, 'second-token,carol,1\n');
  await writeFile(rules, 'rules: nothing');
  await expect(api.prepareReload()).rejects.toThrow('policy.yaml');
  expect(await statuses()).toEqual([200, 401]);

  await writeFile(rules, allow('create'));
  const take = await api.prepareReload();
  expect(await statuses()).toEqual([200, 401]);
  take();
  expect(await statuses()).toEqual([401, 403]);
});

/** Serves what these flags ask for, and keeps the messages of the log. */
async function serve(folder: string, ...flags: string[]): Promise<string[]> {
  const options = await optionsOf([...flags, '--address=127.0.0.1', `--root-dir=${folder}`]);
  const clock = new FakeClock();
  const { engine, runtime } = apiDeps();
  const messages: string[] = [];
  const write = (_facts: unknown, message = ''): void => void messages.push(message);
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  const deps = { engine, runtime, metrics: new AgentMetrics(clock), clock, faults: silentFaults(), logger };
  const api = await openAPI(options, { ...deps, setVerbosity: () => undefined });
  onTestFinished(() => {
    api.close();
  });
  return messages;
}

/** The status of a request for the pods, with these credentials. */
function statusAt(port: number, more: object = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const where = { port, host: '127.0.0.1', path: '/pods', rejectUnauthorized: false, agent: false };
    get({ ...where, ...more }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}

test('without a policy anonymous clients are refused, whatever the flags', async () => {
  const folder = await temporaryFolder();
  const tokens = join(folder, 'tokens.csv');
  await writeFile(tokens, 'good,carol,1\n', { mode: 0o600 });
  const port = await freePort();
  const flags = ['--anonymous-auth=true', '--authorization-mode=AlwaysAllow'];
  const messages = await serve(folder, `--token-auth-file=${tokens}`, `--port=${port}`, ...flags);
  expect(await statusAt(port)).toBe(401);
  expect(await statusAt(port, { headers: { authorization: 'Bearer good' } })).toBe(200);
  expect(messages).toContain('Refusing anonymous clients of the API');
});

test.each([
  ['kubeadm', 'kubernetes', { metrics: 200, checkpoint: 403 }],
  ['another authority', 'ca', { metrics: 403, checkpoint: 403 }],
])(
  'with the mode of a configuration file and the CA of %s, only a cluster is let in',
  async (_whose, name, apiServer) => {
    const folder = await temporaryFolder();
    const authority = await CertificateAuthority.make(name);
    const [ca, config, tokens] = [join(folder, 'ca.crt'), join(folder, 'kubelet.yaml'), join(folder, 'tokens.csv')];
    await writeFile(ca, authority.own.cert);
    await writeFile(tokens, 'secret,kube-apiserver-kubelet-client,1\n', { mode: 0o600 });
    const content = { ...configHeader, authentication: { x509: { clientCAFile: ca } } };
    await writeFile(config, JSON.stringify(content));
    const port = await freePort();
    const messages = await serve(folder, `--config=${config}`, `--token-auth-file=${tokens}`, `--port=${port}`);
    const statuses = async (options: object): Promise<object> => ({
      metrics: await statusAt(port, { path: '/metrics', ...options }),
      checkpoint: await statusAt(port, { path: '/checkpoint/default/nosuch/main', method: 'POST', ...options }),
    });
    expect({
      masters: await statuses(await authority.issue('admin', { organizations: ['system:masters'] })),
      administrators: await statuses(await authority.issue('admin', { organizations: ['kubeadm:cluster-admins'] })),
      node: await statuses(await authority.issue('node', { organizations: ['system:nodes'] })),
      apiServer: await statuses(await authority.issue('kube-apiserver-kubelet-client')),
      token: await statuses({ headers: { authorization: 'Bearer secret' } }),
    }).toEqual({
      masters: { metrics: 200, checkpoint: 404 },
      administrators: { metrics: 200, checkpoint: 404 },
      node: { metrics: 403, checkpoint: 403 },
      apiServer,
      token: { metrics: 403, checkpoint: 403 },
    });
    expect(messages).toContain('Refusing other clients of the HTTPS API, because there is no API server to ask');
  },
);

test('the read-only port is open at the address that is given, and at no other', async () => {
  const port = await freePort();
  await serve(await temporaryFolder(), `--read-only-port=${port}`);
  const answers = await Promise.all(
    ['/healthz', '/pods', '/metrics'].map(async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status),
  );
  expect(answers).toEqual([200, 200, 200]);
  await expect(fetch(`http://127.0.0.2:${port}/pods`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
});

test('without client CA, tokens and policy the API is off, and the log says why', async () => {
  const logged: unknown[] = [];
  const logger: Logger = { ...silentLogger, info: (...entry: unknown[]) => void logged.push(entry) };
  const options = await optionsOf(['--port=1', `--root-dir=${await temporaryFolder()}`, '--read-only-port=0']);
  const clock = new FakeClock();
  const { engine, runtime } = apiDeps();
  const deps = { engine, runtime, metrics: new AgentMetrics(clock), clock, faults: silentFaults(), logger };
  const api = await openAPI(options, { ...deps, setVerbosity: () => undefined });
  api.close();
  const because =
    'no client authentication is configured: set authentication.x509.clientCAFile (--client-ca-file) or --token-auth-file';
  expect(logged).toEqual([[{ because }, 'The HTTPS API is off']]);
});

test('a serving pair that cannot be used ends the start also while the API is off', async () => {
  const folder = await temporaryFolder();
  const { own } = await CertificateAuthority.make('ca');
  const cert = join(folder, 'tls.crt');
  await writeFile(cert, own.cert);
  const refused = async (...flags: string[]): Promise<unknown> =>
    serve(folder, ...flags).catch((error: unknown) => error);
  const missing = (path: string): UserError =>
    new UserError(`the serving certificate cannot be used: ENOENT: no such file or directory, open '${path}'`, {
      hint: 'It is named by tlsCertFile (--tls-cert-file), its key by tlsPrivateKeyFile (--tls-private-key-file).',
    });
  expect([
    await refused('--tls-cert-file=/nosuch', '--tls-private-key-file=/nosuch'),
    await refused(`--tls-cert-file=${cert}`),
  ]).toEqual([missing('/nosuch'), missing('')]);
});

test('without a server, a serving pair is not looked at', async () => {
  const flags = ['--enable-server=false', '--tls-cert-file=/nosuch.crt', '--tls-private-key-file=/nosuch.key'];
  expect(await serve(await temporaryFolder(), ...flags)).toEqual(['The HTTPS API is off']);
});

test('a client CA that cannot be read ends the start also without a server', async () => {
  const flags = ['--enable-server=false', '--client-ca-file=/nosuch.crt'];
  await expect(serve(await temporaryFolder(), ...flags)).rejects.toMatchObject({
    name: 'UserError',
    message: 'the client CA /nosuch.crt cannot be read: no such file',
    hint: 'Correct the path or the mode of the file that authentication.x509.clientCAFile (--client-ca-file) names.',
  });
});

test('an API does not start with a client CA that has no usable certificate', async () => {
  const folder = await temporaryFolder();
  const { own } = await CertificateAuthority.make('ca');
  const ca = join(folder, 'ca.crt');
  const started = async (content: string): Promise<unknown> => {
    await writeFile(ca, content);
    return serve(folder, `--client-ca-file=${ca}`, `--port=${await freePort()}`).catch((error: unknown) => error);
  };
  const unusable = (reason: string): UserError =>
    new UserError(`the client CA ${ca} cannot be used: ${reason}`, {
      hint: 'Put the PEM certificates that sign those of clients into the file of authentication.x509.clientCAFile (--client-ca-file).',
    });
  expect(await started('')).toEqual(unusable('it has no certificate'));
  expect(await started('garbage')).toEqual(unusable('it has no certificate'));
  expect(await started(own.key)).toEqual(unusable('it has no certificate'));
  expect(await started(`${own.cert}\n${own.cert.slice(0, -40)}`)).toEqual(unusable('its certificate 2 is damaged'));
  expect(await started(own.cert.replace('MII', 'AAA'))).toEqual(unusable('its certificate 1 is damaged'));
  expect(await started(`words before\n${own.cert}\n${own.key}`)).toContain('Serving the HTTPS API');
});
