import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EngineSnapshot } from '../../src/engine/view/snapshot.ts';
import { Journal } from '../fakes/journal.ts';
import { WebServer } from '../fakes/web-server.ts';
import { type Agent, isReady, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

interface Report {
  eventLogID: string;
  events: { sequence: number; type: string; pod?: { name: string } }[];
  snapshot: EngineSnapshot;
}

let server: WebServer;
let reports: Journal<Report>;
let isOnline: boolean;
let agent: Agent;

beforeEach(async () => {
  isOnline = true;
  reports = new Journal();
  server = new WebServer();
  await server.start();
  server.answer = (request, response) => {
    void text(request).then((body) => {
      if (isOnline) reports.add(JSON.parse(body) as Report);
      response.writeHead(isOnline ? 204 : 500).end();
    });
  };
  agent = await startAgent({
    flags: ['--status-url', server.url('/status?key=s3cret-query'), '--status-url-header', 'X-Key: s3cret-header'],
  });
});
afterEach(async () => {
  await agent.cleanUp();
  await server.stop();
});

const hasReady =
  (name: string) =>
  ({ snapshot }: Report): boolean =>
    snapshot.pods.some((entry) => entry.pod.metadata.name === `${name}-edge1` && isReady(entry));

test('the status reaches home, and events of a time offline follow after kill -9', async () => {
  const env = [{ name: 'TOKEN', value: 'plain-token-value' }];
  await agent.write('web.json', makePod('web', { containers: [{ ...shell('app', serve), env }] }));
  await reports.next(hasReady('web'));
  expect(server.requests.items[0]).toMatchObject({ method: 'POST', headers: { 'x-key': 's3cret-header' } });

  isOnline = false;
  await agent.write('db.json', makePod('db', { containers: [shell('app', serve)] }));
  await agent.untilReady('db');
  await agent.waitForLog(({ msg }) => msg.startsWith('The status was not accepted'));
  const { stderr } = await agent.cli(['ps']);
  expect(stderr).toMatch(/^warning: http:\/\/.*\/status\?… has accepted no status since .*: the server answered 500$/m);

  await agent.kill9();
  isOnline = true;
  await agent.start();
  await reports.next(({ events }) => events.some(({ type, pod }) => type === 'PodAdded' && pod?.name === 'db-edge1'));
  const all = reports.items;
  const sequences = [...new Set(all.flatMap(({ events }) => events.map(({ sequence }) => sequence)))];
  expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  expect(new Set(all.map(({ eventLogID }) => eventLogID)).size).toBe(1);
  expect(JSON.stringify(all) + agent.logText()).not.toMatch(/plain-token|s3cret/);
});
