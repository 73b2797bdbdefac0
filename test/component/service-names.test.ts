import { once } from 'node:events';
import { appendFile, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeNodeConfig } from '../builders/node-config.ts';
import { headless } from '../builders/services.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const pod = (name: string, spec: Parameters<typeof makeStaticPod>[1] = {}) =>
  makeStaticPod(name, { uid: `u-${name}`, labels: { app: name }, ...spec });

/** Boots an engine on a new machine with the pod `web`, which is Ready. */
async function boot(): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  world.runtime.scriptPodIPs(({ metadata }) => [metadata?.name === 'db-edge1' ? '10.88.0.3' : '10.88.0.2']);
  source.setConfigObjects(headless('db'));
  source.set(pod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  return { world, engine, source };
}

const hostsFile = (world: World, name: string): string => join(world.rootDir, 'pods', `u-${name}`, 'etc-hosts');

/** What `web` knows of `db`, as `address name`. */
async function known(world: World, name = 'web'): Promise<string[]> {
  const lines = (await readFile(hostsFile(world, name), 'utf8')).split('\n');
  return lines.filter((line) => line.includes('\tdb\t')).map((line) => line.split('\t', 2).join(' '));
}

/** Starts `db`. */
async function addDatabase({ world, engine, source }: Awaited<ReturnType<typeof boot>>): Promise<void> {
  source.set(pod('web'), pod('db'));
  await world.until(() => engine.isReady('db-edge1'));
}

test('a running pod gets the address of a pod that becomes Ready, and loses it when the pod stops', async () => {
  const box = await boot();
  expect(await known(box.world)).toEqual([]);
  await addDatabase(box);
  await box.world.until(async () => (await known(box.world)).length > 0);
  expect(await known(box.world)).toEqual(['10.88.0.3 db']);

  box.source.set(pod('web'));
  await box.world.until(async () => (await known(box.world)).length === 0);
  expect(box.engine.isReady('web-edge1')).toBe(true);
});

test('a pod that starts later has the names from the start, and its own', async () => {
  const box = await boot();
  await addDatabase(box);
  box.source.set(pod('web'), pod('db'), pod('late'));
  await box.world.until(() => box.engine.isReady('late-edge1'));
  expect(await known(box.world, 'late')).toEqual(['10.88.0.3 db']);
  // No variables such as DB_SERVICE_HOST.
  const environments = box.world.runtime.requestsOf('createContainer').map(({ config }) => config?.envs);
  expect(environments).toEqual([[], [], []]);
  await box.world.until(async () => (await known(box.world, 'db')).length > 0);
  expect(await known(box.world, 'db')).toEqual(['10.88.0.3 db']);
});

test('a Service that appears and disappears changes the names of running pods', async () => {
  const box = await boot();
  await addDatabase(box);
  box.source.setConfigObjects();
  await box.world.until(async () => (await known(box.world)).length === 0);
  box.source.setConfigObjects(headless('db'));
  await box.world.until(async () => (await known(box.world)).length > 0);
  expect(await known(box.world)).toEqual(['10.88.0.3 db']);
});

test('names stay while no agent runs and while the next one starts, with what a container wrote', async () => {
  const box = await boot();
  await addDatabase(box);
  await box.world.until(async () => (await known(box.world)).length > 0);
  await appendFile(hostsFile(box.world, 'web'), '10.0.0.1\tmine\n');
  const before = await readFile(hostsFile(box.world, 'web'), 'utf8');
  await box.engine.kill();
  expect(await readFile(hostsFile(box.world, 'web'), 'utf8')).toBe(before);

  const [webs, dbs] = [new ManualSource(), new ManualSource('file', '<others>')];
  const engine = await box.world.boot({ sources: [webs, dbs] });
  webs.setConfigObjects(headless('db'));
  webs.set(pod('web'));
  await box.world.until(() => engine.isReady('web-edge1'));
  await box.world.pass(1000);
  expect(await readFile(hostsFile(box.world, 'web'), 'utf8')).toBe(before);
  dbs.set(pod('db'));
  await box.world.until(() => engine.isReady('db-edge1'));
  await box.world.pass(1000);
  expect(await readFile(hostsFile(box.world, 'web'), 'utf8')).toBe(before);
});

test('names of a Service that was removed while no agent ran are removed', async () => {
  const box = await boot();
  await addDatabase(box);
  await box.world.until(async () => (await known(box.world)).length > 0);
  await box.engine.kill();
  const source = new ManualSource();
  await box.world.boot({ sources: [source] });
  source.set(pod('web'), pod('db'));
  await box.world.until(async () => (await known(box.world)).length === 0);
});

test('with publishNotReadyAddresses a pod has its name while its init containers run', async () => {
  const box = await boot();
  box.source.setConfigObjects(headless('db', { publishNotReadyAddresses: true }));
  const initContainers = [{ name: 'prepare', image: 'registry.example/app:1' }];
  box.source.set(pod('web'), pod('db', { spec: { initContainers } }));
  await box.world.until(async () => (await known(box.world)).length > 0);
  expect(await known(box.world)).toEqual(['10.88.0.3 db']);
  expect(box.engine.phase('db-edge1')).toBe('Pending');
});

test('a pod on the host network has the address of the node', async () => {
  const box = await boot();
  box.source.set(pod('web'), pod('db', { spec: { hostNetwork: true } }));
  await box.world.until(async () => (await known(box.world)).length > 0);
  expect(await known(box.world)).toEqual(['192.0.2.1 db']);
});

test('names, statuses and new containers follow the address of the node, with one event', async () => {
  const world = await World.make();
  const source = new ManualSource();
  let ips = ['192.0.2.99'];
  let changed: (before: readonly string[]) => void = () => undefined;
  const engine = await world.boot({
    sources: [source],
    node: makeNodeConfig(world.folder, { nodeIPs: () => ips }),
    followNodeIPs: async (onChange, signal) => {
      changed = onChange;
      await once(signal, 'abort');
    },
  });
  const env = [{ name: 'HOST_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }];
  const db = pod('db', { spec: { hostNetwork: true } });
  source.setConfigObjects(headless('db'));
  source.set(pod('web'), db);
  await world.until(async () => engine.isReady('db-edge1') && (await known(world)).length > 0);

  ips = ['192.0.2.55'];
  changed(['192.0.2.99']);
  const late = pod('late', { spec: { containers: [{ name: 'main', image: 'registry.example/app:1', env }] } });
  source.set(pod('web'), db, late);
  await world.until(async () => engine.isReady('late-edge1') && (await known(world)).join() === '192.0.2.55 db');
  const { hostIP, podIP } = engine.pod('db-edge1')?.pod.status ?? {};
  const created = world.runtime.requestsOf('createContainer').at(-1)?.config?.envs;
  expect({ hostIP, podIP, variable: created?.find(({ key }) => key === 'HOST_IP')?.value.toString() }).toEqual({
    hostIP: '192.0.2.55',
    podIP: '192.0.2.55',
    variable: '192.0.2.55',
  });
  expect(engine.messages('NodeAddressChanged')).toEqual([
    'The address of the node changed from 192.0.2.99 to 192.0.2.55',
  ]);
});

test('a hosts file that is no longer ours is left alone until the next start', async () => {
  const box = await boot();
  await rm(hostsFile(box.world, 'web'));
  await mkdir(hostsFile(box.world, 'web'));
  await addDatabase(box);
  await box.world.until(async () => (await known(box.world, 'db')).length > 0);
  expect(await readdir(hostsFile(box.world, 'web'))).toEqual([]);
  box.world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  await box.world.until(async () => (await stat(hostsFile(box.world, 'web'))).isFile());
  expect(await known(box.world)).toEqual(['10.88.0.3 db']);
});
