import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { get } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { openAPI } from '../../src/node/open-api.ts';
import type { Logger } from '../../src/logger.ts';
import { AgentMetrics } from '../../src/server/metrics/agent-metrics.ts';
import { optionsOf } from '../golden-runner/start-case.ts';
import { CertificateAuthority } from '../fakes/certificate-authority.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { apiDeps } from '../server/api/api-rig.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

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

test('a pair whose files change is taken within a minute, without a gap, and a damaged one is not', async () => {
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
  const open = async (): Promise<TLSSocket> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...client });
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
  const taken = logged('The HTTPS API took another certificate');
  await clock.advance(60_000);
  await taken;
  expect(await asks(await open())).toBe('second 200');
  expect(await asks(early)).toBe('first 200');

  await writeFile(key, 'damaged');
  const kept = logged('The HTTPS API keeps its certificate');
  await clock.advance(60_000);
  await kept;
  expect(await asks(await open())).toBe('second 200');
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
