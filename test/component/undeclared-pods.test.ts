import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { podTable } from '../../src/engine/listing/pod-table.ts';
import { nodeWarnings } from '../../src/engine/listing/node-warnings.ts';
import type { KubeletDeps } from '../../src/engine/build/kubelet-deps.ts';
import type { Logger } from '../../src/logger.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { type Engine, World } from './world.ts';

test('a start with other manifests names the running pods that end, before they do', async () => {
  const world = await World.make();
  const first = new ManualSource();
  const engine = await world.boot({ sources: [first] });
  first.set(makeStaticPod('old'), makeStaticPod('kept'));
  await world.until(() => engine.isReady('old-edge1') && engine.isReady('kept-edge1'));
  await engine.kill();

  const said: { pods: unknown; stopped: number }[] = [];
  const warn = (facts: unknown, message?: string): void => {
    if (message?.startsWith('Stopping pods that are no longer declared') !== true) return;
    const { pods } = facts as { pods: unknown };
    said.push({ pods, stopped: world.runtime.requestsOf('stopContainer').length });
  };
  const logger: Logger = { ...silentLogger, warn, child: () => logger };
  const second = new ManualSource();
  await world.boot({ sources: [second], logger });
  second.set(makeStaticPod('kept'));
  await world.until(async () => (await world.inventory()).every((line) => !line.startsWith('old-edge1')));
  expect(said).toEqual([{ pods: ['default/old-edge1'], stopped: 0 }]);
});

const db = makeStaticPod('db', { uid: 'db' });
const web = makeStaticPod('web', { uid: 'web' });
const job = makeStaticPod('job', {
  uid: 'job',
  spec: { restartPolicy: 'Never', containers: [{ name: 'job', image: 'registry.example/app:1' }] },
});
const other = makeStaticPod('other', { uid: 'other', spec: { containers: [{ name: 'other', image: 'app:1' }] } });

/** A world in which an agent ran these pods, and is gone. */
async function worldOf(...pods: Pod[]): Promise<World> {
  return worldBy(new ManualSource(), ...pods);
}

async function worldBy(source: ManualSource, ...pods: Pod[]): Promise<World> {
  const world = await World.make();
  world.runtime.script('job', { exitAfterMs: 1000 });
  const engine = await world.boot({ sources: [source] });
  source.set(...pods);
  const isThere = ({ metadata: { name } }: Pod): boolean => engine.isReady(name) || engine.phase(name) === 'Succeeded';
  await world.until(() => pods.every(isThere));
  await engine.kill();
  return world;
}

const read = (...pods: Pod[]): ManualSource => {
  const source = new ManualSource();
  source.set(...pods);
  return source;
};

const nothingOnPurpose = (): ManualSource => {
  const source = new ManualSource();
  source.setNothing();
  return source;
};

const urlThatDeclares = (...pods: Pod[]): ManualSource => {
  const source = new ManualSource('http');
  source.set(...pods);
  return source;
};

/** The running pods a minute after a start with these sources. */
async function runningAfter(world: World, sources: ManualSource[], deps: Partial<KubeletDeps> = {}): Promise<string[]> {
  const engine = await world.boot({ sources, ...deps });
  await world.pass(60_000);
  await engine.kill();
  return world.runtime.running();
}

const both = ['db-edge1/main#0', 'web-edge1/main#0'];

test.each<[string, () => ManualSource[], string[]]>([
  ['an empty folder', () => [read()], both],
  ['no source at all', () => [], both],
  ['the wrong folder', () => [read(other)], [...both, 'other-edge1/other#0'].sort()],
  ['a URL that declares other pods', () => [urlThatDeclares(other)], [...both, 'other-edge1/other#0'].sort()],
  ['an empty folder and a URL that does not answer', () => [read(), new ManualSource('http')], both],
  ['a folder that still declares some pods', () => [read(web)], ['web-edge1/main#0']],
  ['an empty folder and a URL that declares some pods', () => [read(), urlThatDeclares(web)], ['web-edge1/main#0']],
  ['an empty list on purpose', () => [nothingOnPurpose()], []],
  ['an empty folder and an empty list on purpose', () => [read(), nothingOnPurpose()], []],
])('after a start with %s, these pods run', async (_, sources, running) => {
  expect(await runningAfter(await worldOf(db, web), sources())).toEqual(running);
});

test('a pod that completed while no agent ran is not kept, although its sandbox is ready', async () => {
  const world = await worldOf(job);
  await world.pass(2000);
  expect(world.runtime.running()).toEqual([]);
  const { items } = await world.runtime.listPodSandbox({});
  expect(items.map(({ state }) => state)).toEqual(['SANDBOX_READY']);
  const engine = await world.boot({ sources: [read(other)] });
  await world.until(() => engine.isReady('other-edge1'));
  await world.pass(60_000);
  expect(engine.kubelet.snapshot().pods.map(({ pod }) => pod.metadata.name)).toEqual(['other-edge1']);
  expect(engine.messages('NotDeclared')).toEqual([]);
});

test('--prune confirms that all pods stop', async () => {
  expect(await runningAfter(await worldOf(db, web), [read()], { prunes: true })).toEqual([]);
});

test('applied pods that were deleted while no agent ran are stopped', async () => {
  const world = await worldBy(new ManualSource('applied'), db, web);
  expect(
    await runningAfter(
      world,
      [new ManualSource('applied'), read()].map((source) => (source.set(), source)),
    ),
  ).toEqual([]);
});

test('kept pods stay kept at the next start, whatever runs next to them, and go on once they are declared', async () => {
  const world = await worldOf(db, web);
  await runningAfter(world, [read(other)]);
  expect(await runningAfter(world, [read(other)])).toEqual([...both, 'other-edge1/other#0'].sort());
  expect(await runningAfter(world, [read(db, web)])).toEqual(both);
  expect(await runningAfter(world, [read(web)])).toEqual(['web-edge1/main#0']);
});

test('the last manifest is removed on purpose while the agent runs, and a kill of the agent changes nothing', async () => {
  const world = await worldOf(db);
  world.runtime.script('main', { stopAfterMs: 20_000 });
  const source = read(db);
  const engine = await world.boot({ sources: [source] });
  await world.until(() => engine.isReady('db-edge1'));
  source.set();
  await world.until(() => world.runtime.requestsOf('stopContainer').length === 1);
  engine.crash();
  expect(await runningAfter(world, [read()])).toEqual([]);
});

async function keepingEngine(world: World, source: ManualSource): Promise<Engine> {
  const engine = await world.boot({ sources: [source] });
  await world.until(() => engine.pod('db-edge1')?.worker.state === 'sync' && engine.isReady('db-edge1'));
  return engine;
}

test('kept pods are listed and maintained, completed ones are not removed, and an empty list stops all of them', async () => {
  const world = await worldOf(db, job);
  const source = read();
  const engine = await keepingEngine(world, source);
  world.runtime.exitContainer({ pod: 'db-edge1', container: 'main' }, 1);
  await world.until(() => world.runtime.running().includes('db-edge1/main#1') && engine.isReady('db-edge1'));
  const snapshot = engine.kubelet.snapshot();
  const { columns, rows } = await podTable(snapshot.pods, snapshot, { wide: false, now: world.clock.now() });
  const shown = rows.map(({ cells }) => [cells[1], cells[3], cells[columns.indexOf('REASON')]]);
  const reason = 'no manifest declares it; it is kept, because otherwise this start would remove every pod';
  expect(shown).toEqual([
    ['db-edge1', 'Running (undeclared)', reason],
    ['job-edge1', 'Completed (undeclared)', ''],
  ]);
  expect(nodeWarnings(snapshot, { wide: false, now: 0 })).toEqual([
    'warning: 2 pods are kept without a manifest; to remove them: kubelet-ts run MANIFESTS --prune',
  ]);
  expect(engine.messages('NotDeclared')).toHaveLength(2);
  source.setNothing();
  await world.until(async () => (await world.inventory()).length === 0);
  expect(engine.kubelet.snapshot().pods).toEqual([]);
});

test('kept pods are removed by down', async () => {
  const world = await worldOf(db, web);
  const engine = await keepingEngine(world, read());
  let left: unknown;
  void engine.kubelet.removeAllPods().then((pods) => {
    left = pods;
  });
  await world.until(() => left !== undefined);
  expect({ left, inventory: await world.inventory() }).toEqual({ left: [], inventory: [] });
});

test('a changed manifest replaces a kept pod', async () => {
  const world = await worldOf(db, web);
  const source = read();
  const engine = await keepingEngine(world, source);
  const spec = { containers: [{ name: 'main', image: 'registry.example/app:1', workingDir: '/' }] };
  source.set(makeStaticPod('db', { uid: 'next', spec }));
  await world.until(() => engine.pod('db-edge1')?.pod.metadata.uid === 'next' && engine.isReady('db-edge1'));
  expect(world.runtime.running()).toEqual(both);
  expect(world.runtime.maxConcurrentRunning('db-edge1', 'main')).toBe(1);
});
