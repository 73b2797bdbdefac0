import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, onTestFinished, test } from 'vitest';
import { nodeWarnings } from '../../src/engine/listing/node-warnings.ts';
import { OriginFailure } from '../../src/engine/config/polled/origin-failure.ts';
import { StatusURLs } from '../../src/node/status-urls/status-urls.ts';
import { makeSecret } from '../builders/config-objects.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { World } from './world.ts';

const where = 'https://home.example/status';

/** An engine and its status URL. `bodies` are what the server got. */
async function reporting() {
  const world = await World.make();
  const source = new ManualSource();
  const bodies: string[] = [];
  const server = { isOnline: true };
  const urls = await StatusURLs.open({
    rootDir: world.rootDir,
    servers: [
      {
        where,
        post: (body) => {
          if (!server.isOnline) return Promise.reject(new OriginFailure('refused', 'the server answered 500', 'Look.'));
          bodies.push(body);
          return Promise.resolve([]);
        },
      },
    ],
    clock: world.clock,
    random: () => 0,
    logger: silentLogger,
  });
  const engine = await world.boot({ sources: [source], statusURLs: () => urls.snapshot() });
  const ended = new AbortController();
  const running = urls.run(engine.kubelet, ended.signal);
  onTestFinished(async () => {
    ended.abort(new Error('the test is over'));
    await running;
  });
  return { world, source, engine, bodies, server };
}

const schemaFile = new URL('../../docs/reference/status.schema.json', import.meta.url);

test('what is posted is as docs/reference/status.schema.json says, and has no secret of a pod', async () => {
  const { world, source, engine, bodies } = await reporting();
  const refusal = new Refusal(codes.unknown, 'exec: "hunter2-hunter2 plain-token-value": executable file not found');
  world.runtime.injectError('startContainer', refusal, { times: 1 });
  source.setConfigObjects(makeSecret('login', { password: 'hunter2-hunter2' }));
  source.set(
    makeStaticPod('web', {
      labels: { app: 'web' },
      annotations: { 'example.com/token': 'annotated-token' },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'app:1',
            env: [
              { name: 'TOKEN', value: 'plain-token-value' },
              { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
            ],
            args: ['--password=argument-value'],
          },
        ],
      },
    }),
  );
  await world.until(() => engine.isReady('web-edge1'));
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  await world.until(() => bodies.some((body) => body.includes('ContainerDied')));

  const validate = new Ajv2020({ allErrors: true }).compile(JSON.parse(await readFile(schemaFile, 'utf8')) as object);
  const reports = bodies.map((body) => JSON.parse(body) as object);
  expect(reports.flatMap((report) => (validate(report) ? [] : (validate.errors ?? [])))).toEqual([]);
  expect(reports.at(-1)).toMatchObject({
    snapshot: { pods: [{ pod: { metadata: { name: 'web-edge1', labels: { app: 'web' } }, status: {} } }] },
  });
  const all = bodies.join('') + (await readFile(join(world.rootDir, 'state/status-urls/events.jsonl'), 'utf8'));
  expect(all).toContain('exec: \\"<hidden> <hidden>\\": executable file not found');
  expect(all).not.toMatch(/hunter2|plain-token|annotated-token|argument-value/);
});

test('ps says since when a status URL accepts nothing', async () => {
  const { world, engine, bodies, server } = await reporting();
  const warnings = (): string[] =>
    nodeWarnings(engine.kubelet.snapshot(), { wide: false, now: world.clock.now() }).filter((line) =>
      line.includes(where),
    );
  await world.until(() => bodies.length === 1);
  const acceptedAt = new Date(world.clock.now()).toISOString();
  expect(warnings()).toEqual([]);
  server.isOnline = false;
  await world.pass(400_000);
  expect(warnings()).toEqual([
    expect.stringMatching(
      new RegExp(`^warning: ${where} has accepted no status since ${acceptedAt} .*: the server answered 500$`),
    ),
  ]);
  server.isOnline = true;
  await world.until(() => bodies.length > 1);
  expect(warnings()).toEqual([]);
});
