import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let server: Server;
let agent: Agent;
let url: string;
let answer: { status: number; body: string };
let tokens: Set<string | undefined>;

const web = (version: string): string =>
  JSON.stringify(makePod('web', { annotations: { version }, containers: [shell('app', serve)] }));

beforeAll(async () => {
  answer = { status: 200, body: web('1') };
  tokens = new Set();
  server = createServer((request, response) => {
    tokens.add(request.headers.authorization);
    response.writeHead(answer.status).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods.json`;
  const header = ['--manifest-url-header', 'Authorization: Bearer abc'];
  agent = await startAgent({ flags: ['--manifest-url', url, '--http-check-frequency', '100ms', ...header] });
});
afterAll(async () => {
  await agent.cleanUp();
  server.close();
});

test('the pod of a URL runs, asked for with the headers of the flags', async () => {
  const { source, pod } = await agent.untilReady('web');
  expect([source, pod.metadata.annotations?.['kubernetes.io/config.source']]).toEqual(['http', 'http']);
  expect([...tokens]).toEqual(['Bearer abc']);
});

test('a server that fails or answers nothing takes no pod away', async () => {
  const { pod } = await agent.untilReady('web');
  for (const bad of [
    { status: 500, body: 'out of order' },
    { status: 200, body: '' },
  ]) {
    answer = bad;
    const { sources, pods } = await agent.until(({ sources }) =>
      sources.some(({ source, problems }) => source === 'http' && problems.length > 0),
    );
    expect(sources.find(({ source }) => source === 'http')?.problems).toMatchObject([
      { severity: 'error', origin: url },
    ]);
    expect(pods.map((entry) => entry.pod.metadata.uid)).toEqual([pod.metadata.uid]);
    answer = { status: 200, body: web('1') };
    await agent.until(({ sources }) => sources.every(({ problems }) => problems.length === 0));
  }
});

test('a new revision replaces the pod', async () => {
  const { pod } = await agent.untilReady('web');
  answer = { status: 200, body: web('2') };
  await agent.untilPod(
    'web',
    (entry) => entry.pod.metadata.uid !== pod.metadata.uid && entry.pod.status?.phase === 'Running',
  );
});
