import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { EngineSnapshot, PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { CertificateAuthority } from '../fakes/certificate-authority.ts';
import { type Answer, ownLoopbackAddress, WebServer } from '../fakes/web-server.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let folder: string;
let server: WebServer;
let agent: Agent;
/** As people see it. */
let url: string;

const pod = (name: string, version: string): object =>
  makePod(name, { annotations: { version }, containers: [shell('app', serve)] });
const listOf = (...items: object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

/** Lets in who has the token, and sends a body once. */
function guarded(etag: string, body: string): Answer {
  return ({ headers }, response) => {
    if (headers.authorization !== 'Bearer t0ken') response.writeHead(401).end();
    else if (headers['if-none-match'] === etag) response.writeHead(304).end();
    else response.writeHead(200, { etag }).end(body);
  };
}

const good = guarded('"1"', listOf(pod('web', '1'), pod('db', '1')));
const isWell = ({ sources }: EngineSnapshot): boolean => sources.every(({ problems }) => problems.length === 0);
const problemsOfURL = ({ sources }: EngineSnapshot): string[] =>
  sources.filter(({ source }) => source === 'http').flatMap(({ problems }) => problems.map(({ message }) => message));
const uids = ({ pods }: EngineSnapshot): string[] => pods.map((entry) => entry.pod.metadata.uid).sort();
const hasRestarted = ({ pod: { status } }: PodSnapshot): boolean =>
  (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0;
const containers = async (): Promise<string[]> =>
  (await Promise.all(['web', 'db'].map((name) => agent.runningContainer(name)))).map(({ id }) => id);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kts-url-'));
  const authority = await CertificateAuthority.make('authority of the box');
  await writeFile(join(folder, 'ca.pem'), authority.own.cert);
  await writeFile(join(folder, 'token'), 't0ken\n', { mode: 0o600 });
  const host = ownLoopbackAddress();
  server = new WebServer({ host, tls: await authority.issue('box', { ips: [host] }) });
  server.answer = good;
  await server.start();
  url = server.url('/pods.json?…');
  agent = await startAgent({
    flags: [
      ...['--manifest-url', server.url('/pods.json?key=s3cret')],
      ...['--manifest-url-ca-file', join(folder, 'ca.pem')],
      ...['--manifest-url-token-file', join(folder, 'token')],
      ...['--manifest-url-header', 'X-Key: s3cret'],
      ...['--http-check-frequency', '100ms'],
    ],
  });
});
beforeEach(async () => {
  await agent.untilReady('web');
  await agent.untilReady('db');
});
afterAll(async () => {
  await agent.cleanUp();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test('the pods of a URL run; what opens it is sent there, and shown nowhere', async () => {
  const { source, pod: web } = await agent.untilReady('web');
  expect([source, web.metadata.annotations?.['kubernetes.io/config.source']]).toEqual(['http', 'http']);
  expect(server.requests.items[0]).toMatchObject({ url: '/pods.json?key=s3cret', headers: { 'x-key': 's3cret' } });
  const snapshot = await agent.until(isWell);
  expect(snapshot.sources.find((entry) => entry.source === 'http')?.where).toBe(url);
  const shown = [
    JSON.stringify(snapshot),
    (await agent.cli(['ps', '-o', 'wide'])).stdout,
    agent.logText(),
    await readFile(`/proc/${agent.pid}/cmdline`, 'utf8'),
  ];
  expect(shown.filter((text) => /s3cret|t0ken/.test(text))).toEqual([]);
});

test('a server that fails, answers nonsense or goes away takes no pod with it', async () => {
  const before = { uids: uids(await agent.until(isWell)), containers: await containers() };
  const bad: Answer[] = [
    { status: 500, body: 'out of order' },
    '',
    '<html>Wi-Fi</html>',
    listOf(pod('web', '2'), { kind: 'Pod' }),
    'x'.repeat(10 * 1024 * 1024 + 1),
    (_request, response) => response.writeHead(200, { 'content-length': '99' }).write('{', () => response.destroy()),
    (_request, response) => response.destroy(),
  ];
  for (const answer of bad) {
    server.answer = answer;
    expect(uids(await agent.until((snapshot) => !isWell(snapshot)))).toEqual(before.uids);
    // What is good again comes with a tag that is new, and says nothing new.
    server.answer = guarded(`"after ${bad.indexOf(answer)}"`, listOf(pod('web', '1'), pod('db', '1')));
    await agent.until(isWell);
  }
  await server.stop();
  await agent.until((snapshot) => problemsOfURL(snapshot).some((message) => message.includes('ECONNREFUSED')));
  await server.start();
  expect({ uids: uids(await agent.until(isWell)), containers: await containers() }).toEqual(before);
});

test('a start without the server finds the pods of the last life, and they run on', async () => {
  const before = await containers();
  await server.stop();
  await agent.kill9();
  await agent.start();
  const snapshot = await agent.until(({ pods }) => pods.length === 2);
  expect(problemsOfURL(snapshot)).toContain('pods stay as the server declared them last');
  await agent.untilReady('web');
  await agent.untilReady('db');
  expect(await containers()).toEqual(before);
  await server.start();
  await agent.until(isWell);
  expect(await containers()).toEqual(before);
});

test('a reboot without the server brings all pods back', async () => {
  const before = { uids: uids(await agent.until(isWell)), containers: await containers() };
  await server.stop();
  await agent.powerOff();
  await agent.start();
  await agent.until(({ pods }) => pods.length === 2 && pods.every(hasRestarted));
  const snapshot = await agent.until(({ pods }) => pods.every(isReady));
  expect(uids(snapshot)).toEqual(before.uids);
  expect(problemsOfURL(snapshot)).toContain('pods stay as the server declared them last');
  expect((await containers()).filter((id) => before.containers.includes(id))).toEqual([]);
  await server.start();
  await agent.until(isWell);
});

test('a new revision replaces the pod, and leaves the other one alone', async () => {
  const [, db] = await containers();
  const { pod: old } = await agent.untilReady('web');
  server.answer = guarded('"2"', listOf(pod('web', '2'), pod('db', '1')));
  await agent.untilPod(
    'web',
    (entry) => entry.pod.metadata.uid !== old.metadata.uid && entry.pod.status?.phase === 'Running',
  );
  expect((await agent.runningContainer('db')).id).toBe(db);
});

test('an empty list takes all pods away', async () => {
  server.answer = guarded('"3"', listOf());
  await agent.untilNoPods();
});
