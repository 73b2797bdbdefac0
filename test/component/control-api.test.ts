import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/clock.ts';
import { AppliedManifests } from '../../src/engine/applied/applied-manifests.ts';
import { serveControlSocket } from '../../src/server/control/control-socket.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { World } from './world.ts';

/** Places of a schema in the document. */
const schemaOf = (name: string): string => `control-api#/components/schemas/${name}`;

let ajv: Ajv2020;

beforeAll(() => {
  const document = parse(
    readFileSync(new URL('../../docs/reference/control-api.yaml', import.meta.url), 'utf8'),
  ) as object;
  // The words of OpenAPI around the schemas are not those of JSON Schema.
  ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema(document, 'control-api');
});

/** What of the value is not as the document has it. */
function differences(name: string, value: unknown): unknown {
  const validate = ajv.compile({ $ref: schemaOf(name) });
  validate(value);
  return validate.errors ?? [];
}

const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: '1' } };

/** The socket of an agent with a pod that restarted once, and an applied ConfigMap. */
async function agentSocket(): Promise<{ path: string; world: World }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(makeStaticPod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
  const rootDir = await temporaryFolder();
  const path = join(rootDir, 'agent.sock');
  const applied = new AppliedManifests({ rootDir, nodeName: 'edge1', clock: systemClock, logger: silentLogger });
  await applied.apply(Buffer.from(JSON.stringify(settings)), { declarerOf: () => undefined });
  const server = await serveControlSocket(path, {
    view: Promise.resolve(engine.kubelet),
    applied,
    metrics: { text: (path) => Promise.resolve(Buffer.from(`# ${path}\n`)) },
    shutdown: () => undefined,
    waitsFor: () => undefined,
    faults: silentFaults(),
    logger: silentLogger,
  });
  onTestFinished(server.close);
  return { path, world };
}

function get(socketPath: string, path: string): Promise<{ status: number | undefined; type: string; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path }, (response) => {
      const type = (response.headers['content-type'] ?? '').split(';')[0] ?? '';
      text(response).then((body) => {
        resolve({ status: response.statusCode, type, body });
      }, reject);
    });
    sent.on('error', reject).end();
  });
}

test.each([
  ['/v1/agent', 'Agent'],
  ['/v1/snapshot', 'Snapshot'],
  ['/v1/stats', 'Summary'],
  ['/v1/applied', 'AppliedList'],
])('the answer of %s is a %s', async (path, schema) => {
  const { path: socketPath } = await agentSocket();
  const { status, type, body } = await get(socketPath, path);
  expect({ status, type }).toEqual({ status: 200, type: 'application/json' });
  expect(differences(schema, JSON.parse(body))).toEqual([]);
});

test('each entry of a history is a HistoryEntry', async () => {
  const { path } = await agentSocket();
  const { body } = await get(path, '/v1/history?namespace=default&name=web-edge1');
  const entries = JSON.parse(body) as { kind: string }[];
  expect([...new Set(entries.map(({ kind }) => kind))].sort()).toEqual(['end', 'event']);
  expect(entries.flatMap((entry) => differences('HistoryEntry', entry))).toEqual([]);
});

test('a refusal is a Sentence', async () => {
  const { path } = await agentSocket();
  const { status, type, body } = await get(path, '/v1/metrics?path=/nothing');
  expect({ status, type }).toEqual({ status: 404, type: 'text/plain' });
  expect(differences('Sentence', body)).toEqual([]);
});

test.each([
  ['/v1/metrics', '/metrics'],
  ['/v1/metrics?path=/metrics/cadvisor', '/metrics/cadvisor'],
])('the answer of %s is the page %s', async (url, page) => {
  const { path } = await agentSocket();
  expect(await get(path, url)).toEqual({ status: 200, type: 'text/plain', body: `# ${page}\n` });
});

test.each([
  ['/v1/events', 'Event'],
  ['/v1/changes', 'ChangeLine'],
])('each line of %s is a %s', async (url, schema) => {
  const { path, world } = await agentSocket();
  let received = '';
  const sent = request({ socketPath: path, path: url }, (response) => {
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    response.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
    });
  });
  sent.end();
  await world.until(() => received.split('\n').length > 3);
  sent.on('error', () => undefined).destroy();
  const lines = received.split('\n').slice(0, -1);
  expect(lines.flatMap((line) => differences(schema, JSON.parse(line)))).toEqual([]);
});

test('a value of another form is found', () => {
  expect(differences('Agent', { pid: '1' })).toMatchObject([{ instancePath: '/pid', keyword: 'type' }]);
});
