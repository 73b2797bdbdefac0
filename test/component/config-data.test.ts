import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import type { Container, PodSpec } from '../../src/api/types.ts';
import { mountPointsUnder } from '../../src/engine/host/mounts.ts';
import { makeConfigMap, makeSecret } from '../builders/config-objects.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

/** Boots an engine on a new machine, without declared objects. */
async function boot(): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  // Unmounts before the folder is removed, in case the test fails.
  onTestFinished(async () => {
    for (const mountPoint of await mountPointsUnder(world.folder)) await execa('umount', ['-l', mountPoint]);
  });
  return { world, engine, source };
}

const withMain = (main: Partial<Container>, spec: Partial<PodSpec> = {}) =>
  makeStaticPod('web', {
    uid: 'u1',
    spec: { containers: [{ name: 'main', image: 'registry.example/app:1', ...main }], ...spec },
  });

/** A pod that mounts the ConfigMap `settings`. */
const mounting = (spec: Partial<PodSpec> = {}) =>
  withMain(
    { volumeMounts: [{ name: 'config', mountPath: '/config' }] },
    { volumes: [{ name: 'config', configMap: { name: 'settings' } }], ...spec },
  );

const fromSettings = { env: [{ name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } }] };

/** Environments of the created containers. */
const environments = (world: World): Record<string, string>[] =>
  world.runtime
    .requestsOf('createContainer')
    .map(({ config }) =>
      Object.fromEntries((config?.envs ?? []).map(({ key, value }) => [key, Buffer.from(value).toString()])),
    );

const configFile = (world: World, name: string): string =>
  join(world.rootDir, 'pods', 'u1', 'volumes', 'kubernetes.io~configmap', 'config', name);

test('variables come from ConfigMaps and Secrets', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }), makeSecret('login', { user: 'admin' }));
  source.set(
    withMain({
      envFrom: [{ prefix: 'LOGIN_', secretRef: { name: 'login' } }, { configMapRef: { name: 'none', optional: true } }],
      ...fromSettings,
    }),
  );
  await world.until(() => engine.isReady('web-edge1'));
  expect(environments(world)).toEqual([{ MODE: 'blue', LOGIN_user: 'admin' }]);
});

test('a container that lacks a key says which, and starts as soon as the key comes', async () => {
  const { world, engine, source } = await boot();
  source.set(withMain(fromSettings));
  await world.until(() => engine.waitingReason('web-edge1') === 'CreateContainerConfigError');
  expect(engine.messages('Failed')).toContain('Error: configmap "settings" not found');
  expect(world.runtime.running()).toEqual([]);

  source.setConfigObjects(makeConfigMap('settings', { other: '1' }));
  const missingKey = "Error: couldn't find key mode in ConfigMap default/settings";
  await world.until(() => engine.messages('Failed').includes(missingKey));

  const came = world.clock.now();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }));
  await world.until(() => world.runtime.running().length === 1);
  // At once, without a back-off.
  expect(world.clock.now() - came).toBeLessThan(1000);
  await world.until(() => engine.isReady('web-edge1'));
  expect(environments(world)).toEqual([{ MODE: 'blue' }]);
});

test('a pod whose volume lacks its ConfigMap waits, and starts as soon as that comes', async () => {
  const { world, engine, source } = await boot();
  source.set(mounting());
  await world.until(() => engine.messages('FailedMount').length > 0);
  expect(engine.messages('FailedMount')[0]).toBe(
    'MountVolume.SetUp failed for volume "config" : configmap "settings" not found',
  );
  expect(engine.waitingReason('web-edge1')).toBe('ContainerCreating');
  expect(await world.inventory()).toEqual([]);

  const came = world.clock.now();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }));
  await world.until(() => world.runtime.running().length === 1);
  expect(world.clock.now() - came).toBeLessThan(1000);
  expect(await readFile(configFile(world, 'mode'), 'utf8')).toBe('blue');
  expect(world.runtime.requestsOf('createContainer')[0]?.config?.mounts[0]).toMatchObject({
    containerPath: '/config',
    hostPath: join(configFile(world, 'mode'), '..'),
    readonly: true,
  });
});

test('a volume follows its ConfigMap while the container runs on', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }));
  source.set(mounting());
  await world.until(() => engine.isReady('web-edge1'));
  source.setConfigObjects(makeConfigMap('settings', { mode: 'green' }));
  await world.until(async () => (await readFile(configFile(world, 'mode'), 'utf8')) === 'green');
  expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
});

test('a container whose ConfigMap is removed is restarted with what its volume had', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }));
  source.set(mounting());
  await world.until(() => engine.isReady('web-edge1'));
  source.setConfigObjects();
  await world.until(() => engine.messages('FailedMount').length > 0);
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
  expect(await readFile(configFile(world, 'mode'), 'utf8')).toBe('blue');
});

test('an immutable ConfigMap keeps its content, and the source says so', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }, { immutable: true }));
  source.set(mounting());
  await world.until(() => engine.isReady('web-edge1'));
  source.setConfigObjects(makeConfigMap('settings', { mode: 'green' }));
  expect(engine.kubelet.snapshot().sources.flatMap(({ problems }) => problems)).toMatchObject([
    { severity: 'error', origin: '<file>', message: 'ConfigMap/default/settings is immutable: it stays as it was' },
  ]);
  await world.pass(100_000);
  expect(await readFile(configFile(world, 'mode'), 'utf8')).toBe('blue');
});

test('the next agent takes the new content of an immutable ConfigMap', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }, { immutable: true }));
  source.set(mounting());
  await world.until(() => engine.isReady('web-edge1'));
  await engine.kill();
  const second = new ManualSource();
  await world.boot({ sources: [second] });
  second.setConfigObjects(makeConfigMap('settings', { mode: 'green' }, { immutable: true }));
  second.set(mounting());
  await world.until(async () => (await readFile(configFile(world, 'mode'), 'utf8')) === 'green');
});

test('a variable keeps its value until its container starts again', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }));
  source.set(withMain(fromSettings));
  await world.until(() => engine.isReady('web-edge1'));
  source.setConfigObjects(makeConfigMap('settings', { mode: 'green' }));
  await world.pass(60_000);
  expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
  expect(environments(world)).toEqual([{ MODE: 'blue' }, { MODE: 'green' }]);
});

test('what a volume holds is put right at the next sync', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeConfigMap('settings', { mode: 'blue' }));
  source.set(mounting());
  await world.until(() => engine.isReady('web-edge1'));
  await writeFile(configFile(world, 'mode'), 'torn');
  await world.until(async () => (await readFile(configFile(world, 'mode'), 'utf8')) === 'blue');
});

test('volumes in memory are unmounted when the pod goes, also by an engine that did not mount them', async () => {
  const { world, engine, source } = await boot();
  source.setConfigObjects(makeSecret('login', { password: 'x' }));
  const volumes = [{ name: 'secret', secret: { secretName: 'login' } }];
  source.set(withMain({ volumeMounts: [{ name: 'secret', mountPath: '/secret' }] }, { volumes }));
  await world.until(() => engine.isReady('web-edge1'));
  expect(await mountPointsUnder(world.folder)).toHaveLength(1);
  await engine.kill();
  const second = new ManualSource();
  await world.boot({ sources: [second], prunes: true });
  second.set();
  await world.until(async () => (await world.inventory()).length === 0);
  await world.until(async () => (await mountPointsUnder(world.folder)).length === 0);
});

test('a volume whose claim nothing declares keeps its pod from starting, without haste', async () => {
  const { world, engine, source } = await boot();
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  source.set(withMain({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }, { volumes }));
  await world.pass(60_000);
  expect(await world.inventory()).toEqual([]);
  expect(new Set(engine.messages('FailedMount'))).toEqual(
    new Set(['MountVolume.SetUp failed for volume "data" : persistentvolumeclaim "data" not found']),
  );
  expect(engine.messages('FailedMount').length).toBeLessThan(15);
});

test('a path of the machine that comes a moment after its pod is mounted without the usual back-off', async () => {
  const { world, engine, source } = await boot();
  const path = join(world.folder, 'late');
  const volumes = [{ name: 'late', hostPath: { path, type: 'Directory' } }];
  source.set(withMain({ volumeMounts: [{ name: 'late', mountPath: '/late' }] }, { volumes }));
  await world.until(() => engine.messages('FailedMount').length > 0);
  await mkdir(path);
  const came = world.clock.now();
  await world.until(() => world.runtime.running().length === 1);
  expect(world.clock.now() - came).toBeLessThan(5000);
});

const wholeImageOnly = 'the container runtime cannot mount a subPath of the image volume "art"';

test.each([
  ['containerd', '1.7.24', 'bin', wholeImageOnly],
  ['containerd', 'v2.1.9', 'bin', wholeImageOnly],
  ['containerd', 'v2.1.9', undefined, undefined],
  ['containerd', 'v2.2.0', 'bin', undefined],
  ['containerd', 'v2.10.0', 'bin', undefined],
  ['cri-o', '1.32.4', 'bin', wholeImageOnly],
  ['cri-o', '1.33.0', 'bin', undefined],
])(
  '%s %s is asked for the part %s of an image only if it can mount it',
  async (runtimeName, runtimeVersion, subPath, refusal) => {
    const world = await World.make();
    Object.assign(world.runtime.release, { runtimeName, runtimeVersion });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const volumes = [{ name: 'art', image: { reference: 'registry.example/art:1' } }];
    const mount = { name: 'art', mountPath: '/art', ...(subPath && { subPath }) };
    const main = { name: 'main', image: 'registry.example/app:1', volumeMounts: [mount] };
    source.set(makeStaticPod('web', { spec: { volumes, containers: [main] } }));
    await world.pass(5000);
    const { waiting } = engine.pod('web-edge1')?.pod.status?.containerStatuses?.[0]?.state ?? {};
    const asked = world.runtime.requestsOf('createContainer').map(({ config }) => config?.mounts[0]?.imageSubPath);
    expect({ message: waiting?.message, asked }).toEqual({
      message: refusal,
      asked: refusal === undefined ? [subPath ?? ''] : [],
    });
  },
);

test('an image is pulled and mounted by the runtime, where the feature gate says so', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const node = makeNodeConfig(world.folder, { featureGates: { ...defaultFeatureGates, ImageVolume: true } });
  const engine = await world.boot({ sources: [source], node });
  const volumes = [{ name: 'art', image: { reference: 'registry.example/art:1', pullPolicy: 'IfNotPresent' } }];
  source.set(withMain({ volumeMounts: [{ name: 'art', mountPath: '/art' }] }, { volumes }));
  await world.until(() => engine.isReady('web-edge1'));
  expect(world.runtime.requestsOf('pullImage').map(({ image }) => image?.image)).toEqual([
    'registry.example/art:1',
    'registry.example/app:1',
  ]);
  const art = await world.runtime.imageStatus({ image: { image: 'registry.example/art:1' } });
  expect(world.runtime.requestsOf('createContainer')[0]?.config?.mounts[0]).toMatchObject({
    containerPath: '/art',
    hostPath: '',
    readonly: true,
    image: { image: art.image?.id, userSpecifiedImage: 'registry.example/art:1' },
  });
});

test('a container whose image volume cannot be pulled waits as for its own image', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const node = makeNodeConfig(world.folder, { featureGates: { ...defaultFeatureGates, ImageVolume: true } });
  const engine = await world.boot({ sources: [source], node });
  world.runtime.injectError('pullImage', new Refusal(codes.unknown, 'no such artifact'), { times: 1 });
  const volumes = [{ name: 'art', image: { reference: 'registry.example/art:1', pullPolicy: 'IfNotPresent' } }];
  source.set(withMain({ volumeMounts: [{ name: 'art', mountPath: '/art' }] }, { volumes }));
  await world.until(() => engine.messages('Failed').includes('Error: ErrImagePull'));
  expect(world.runtime.running()).toEqual([]);
  await world.until(() => engine.isReady('web-edge1'));
});
