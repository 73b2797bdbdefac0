import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Forwarding } from '../../src/api/values/service.ts';
import { objectHistory } from '../../src/engine/history/history-file.ts';
import { UserError } from '../../src/errors.ts';
import { headless, makePort, makeService } from '../builders/services.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const pod = (name: string) => makeStaticPod(name, { uid: `u-${name}`, labels: { app: 'web' } });
const web = makeService('web', { type: 'NodePort', ports: [makePort({ nodePort: 30_080 })] });

/** A network that records what it forwards, as `where -> endpoints`. */
function fakeNetwork() {
  const forwarded: string[][] = [];
  const network = {
    openSubnets: () => Promise.resolve(['10.223.0.0/22']),
    problems: () => [],
    forward: ({ ports }: Forwarding): Promise<void> => {
      forwarded.push(
        ports.map(
          ({ at, port, endpoints }) =>
            `${'node' in at ? at.node : at.clusterIP}:${port} -> ${endpoints.map(({ ip }) => ip).join()}`,
        ),
      );
      return Promise.resolve();
    },
  };
  return { network, forwarded };
}

async function boot() {
  const world = await World.make();
  const source = new ManualSource();
  const { network, forwarded } = fakeNetwork();
  const engine = await world.boot({ sources: [source], serviceNetwork: network });
  world.runtime.scriptPodIPs(({ metadata }) => [metadata?.name === 'a-edge1' ? '10.88.0.2' : '10.88.0.3']);
  source.setConfigObjects(web);
  source.set(pod('a'), pod('b'));
  await world.until(() => engine.isReady('a-edge1') && engine.isReady('b-edge1'));
  await world.until(() => forwarded.at(-1)?.[0]?.endsWith('10.88.0.2,10.88.0.3') === true);
  return { world, source, engine, forwarded };
}

const addressIn = async (world: World): Promise<string> => {
  const { services } = JSON.parse(await readFile(join(world.rootDir, 'state/services.json'), 'utf8')) as {
    services: Record<string, { clusterIPs: string[] }>;
  };
  return services['default/web']?.clusterIPs[0] ?? '';
};

test('a Service forwards to its Ready pods, with its address in hosts files and variables', async () => {
  const { world, forwarded } = await boot();
  const address = await addressIn(world);
  expect(address).toMatch(/^10\.223\./);
  expect(forwarded.at(-1)).toEqual([`${address}:80 -> 10.88.0.2,10.88.0.3`, 'IPv4:30080 -> 10.88.0.2,10.88.0.3']);
  expect(await readFile(join(world.rootDir, 'pods/u-a/etc-hosts'), 'utf8')).toContain(`\n${address}\tweb\t`);
  const [created] = world.runtime.requestsOf('createContainer');
  expect(created?.config?.envs.map(({ key, value }) => `${key}=${value.toString()}`)).toContain(
    `WEB_SERVICE_HOST=${address}`,
  );
});

test('a Service that asks for the address of another one is refused, and has no name', async () => {
  const { world, source, engine, forwarded } = await boot();
  const address = await addressIn(world);
  const before = forwarded.at(-1);
  source.setConfigObjects(
    web,
    makeService('a', { clusterIPs: [address], selector: { app: 'web' } }),
    headless('all', { selector: { app: 'web' } }),
  );
  const hosts = join(world.rootDir, 'pods/u-a/etc-hosts');
  await world.until(async () => (await readFile(hosts, 'utf8')).includes('\tall\t'));
  expect(engine.messages('ServiceProblem')).toEqual([
    `Service default/a gets no address, because clusterIP ${address} belongs to Service default/web`,
  ]);
  expect(await readFile(hosts, 'utf8')).not.toContain('\ta\t');
  expect(await addressIn(world)).toBe(address);
  expect(forwarded.at(-1)).toEqual(before);
});

test('a Service without endpoints is reported once', async () => {
  const { world, source, engine } = await boot();
  source.setConfigObjects(web, makeService('db', { selector: {} }));
  await world.until(() => engine.messages('ServiceProblem').length > 0);
  source.set(pod('a'));
  await world.pass(1000);
  expect(engine.messages('ServiceProblem')).toEqual([
    'Service default/db has no endpoints, because it has neither a selector nor Endpoints',
  ]);
});

test('nothing leads to a pod any more when it is asked to stop', async () => {
  const { world, source, forwarded } = await boot();
  const release = world.runtime.hang('stopContainer');
  source.set(pod('b'));
  await world.until(() => world.runtime.requestsOf('stopContainer').length > 0);
  expect(forwarded.at(-1)?.map((line) => line.split(' -> ')[1])).toEqual(['10.88.0.3', '10.88.0.3']);
  release();
});

test('the next agent keeps the addresses, and forwards only once it knows the pods', async () => {
  const { world, engine } = await boot();
  const address = await addressIn(world);
  await engine.kill();
  const { network, forwarded } = fakeNetwork();
  const [services, pods] = [new ManualSource(), new ManualSource('file', '<others>')];
  const next = await world.boot({ sources: [services, pods], serviceNetwork: network });
  services.setConfigObjects(web);
  services.set();
  await world.pass(1000);
  pods.set(pod('a'), pod('b'));
  await world.until(() => next.isReady('a-edge1') && next.isReady('b-edge1') && forwarded.length > 0);
  expect(forwarded).toEqual([[`${address}:80 -> 10.88.0.2,10.88.0.3`, 'IPv4:30080 -> 10.88.0.2,10.88.0.3']]);
});

test('the next agent waits ten seconds for a source that does not answer, and for its pods', async () => {
  const { world, engine } = await boot();
  const address = await addressIn(world);
  await engine.kill();
  const { network, forwarded } = fakeNetwork();
  const [source, silent] = [new ManualSource(), new ManualSource('file', '<silent>')];
  const next = await world.boot({ sources: [source, silent], serviceNetwork: network });
  source.setConfigObjects(web);
  source.set(pod('b'));
  await world.until(() => next.isReady('b-edge1'));
  expect(forwarded).toEqual([]);
  await world.until(() => forwarded.length > 0);
  expect(forwarded).toEqual([[`${address}:80 -> 10.88.0.3`, 'IPv4:30080 -> 10.88.0.3']]);
  expect(world.runtime.running()).toEqual(['a-edge1/main#0', 'b-edge1/main#0']);
});

test('the next agent does not wait for a pod that is no longer declared and does not stop', async () => {
  const { world, engine } = await boot();
  const address = await addressIn(world);
  await engine.kill();
  const { network, forwarded } = fakeNetwork();
  const source = new ManualSource();
  const release = world.runtime.hang('stopContainer');
  const next = await world.boot({ sources: [source], serviceNetwork: network });
  source.setConfigObjects(web);
  source.set(pod('b'));
  await world.until(() => next.isReady('b-edge1'));
  await world.pass(1000);
  expect(forwarded).toEqual([[`${address}:80 -> 10.88.0.3`, 'IPv4:30080 -> 10.88.0.3']]);
  release();
});

/** Boots the next agent. The manifest of the pod `b` changed while no agent ran. */
async function bootWithChangedPod(prepare: (world: World) => void) {
  const { world, engine } = await boot();
  const address = await addressIn(world);
  await engine.kill();
  prepare(world);
  const { network, forwarded } = fakeNetwork();
  const source = new ManualSource();
  const next = await world.boot({ sources: [source], serviceNetwork: network });
  source.setConfigObjects(web);
  const containers = [{ name: 'main', image: 'registry.example/app:2' }];
  source.set(pod('a'), makeStaticPod('b', { uid: 'u-b2', labels: { app: 'web' }, spec: { containers } }));
  return { world, next, address, forwarded };
}

test('the next agent leads to a previous revision that runs until the image of the next one can be pulled', async () => {
  const { world, next, address, forwarded } = await bootWithChangedPod(({ runtime }) => {
    runtime.injectError('pullImage', new Refusal(codes.notFound, 'no such image'), { times: Infinity });
  });
  await world.until(() => next.messages('ReplacementWaits').length > 0 && forwarded.length > 0);
  expect(forwarded).toEqual([[`${address}:80 -> 10.88.0.2,10.88.0.3`, 'IPv4:30080 -> 10.88.0.2,10.88.0.3']]);
});

test('the next agent does not wait for a previous revision that does not stop', async () => {
  const { world, address, forwarded } = await bootWithChangedPod(({ runtime }) => {
    onTestFinished(runtime.hang('stopContainer'));
  });
  await world.until(() => world.runtime.requestsOf('stopContainer').length > 0 && forwarded.length > 0);
  expect(forwarded.at(-1)).toEqual([`${address}:80 -> 10.88.0.2`, 'IPv4:30080 -> 10.88.0.2']);
});

test('what the last Service forwarded is removed with it, also if no agent ran then', async () => {
  const { world, engine } = await boot();
  await engine.kill();
  const { network, forwarded } = fakeNetwork();
  const source = new ManualSource();
  await world.boot({ sources: [source], serviceNetwork: network });
  source.set(pod('a'), pod('b'));
  await world.until(() => forwarded.length > 0);
  expect(forwarded).toEqual([[]]);
  expect(await addressIn(world)).toBe('');
});

test('on a machine that cannot forward, names lead to the pods, with one event', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const network = {
    openSubnets: () => Promise.reject(new UserError('iptables is not installed', { hint: 'Install it.' })),
    problems: () => [],
    forward: () => Promise.reject(new Error('is not called')),
  };
  const engine = await world.boot({ sources: [source], serviceNetwork: network });
  world.runtime.scriptPodIPs(() => ['10.88.0.2']);
  source.setConfigObjects(web, headless('other'));
  source.set(pod('a'));
  const hosts = join(world.rootDir, 'pods/u-a/etc-hosts');
  await world.until(
    async () => engine.isReady('a-edge1') && (await readFile(hosts, 'utf8')).includes('\n10.88.0.2\tweb\t'),
  );
  const problem = {
    kind: 'Service',
    namespace: 'default',
    name: 'web',
    stage: 'rules',
    message: 'forwards no ports, and its name resolves to the addresses of its pods: iptables is not installed',
    hint: 'Install it.',
  };
  expect(engine.kubelet.snapshot().serviceProblems).toEqual([{ ...problem, since: expect.any(Number) as number }]);
  expect(engine.messages('ServiceProblem')).toEqual([`Service default/web ${problem.message}`]);
  const name = objectHistory({ kind: 'Service', namespace: 'default', name: 'web' });
  expect(await engine.kubelet.history(name)).toMatchObject([
    { reason: 'ServiceProblem', message: `Service default/web ${problem.message}`, count: 1 },
  ]);
});
