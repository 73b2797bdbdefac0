import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { formatDeviceCheckpoint } from '../../../../src/engine/container-manager/device-manager/device-checkpoint.ts';
import { NodeDevices } from '../../../../src/engine/container-manager/device-manager/node-devices.ts';
import { errorMessage } from '../../../../src/errors.ts';
import { DirectPlugins, goodPlugin, healthy } from '../../../fakes/direct-plugins.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentFaults } from '../../../fakes/silent-faults.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

async function makeDevices() {
  const clock = new FakeClock();
  const plugins = new DirectPlugins(clock);
  const counted: unknown[] = [];
  const folder = join(await temporaryFolder(), 'device-plugins');
  const devices = new NodeDevices({
    folder,
    plugins,
    activePods: () => [],
    sourcesReady: () => true,
    managers: () => undefined,
    onEvent: () => undefined,
    onFreed: () => undefined,
    onHealthChanged: undefined,
    meter: { count: (...count) => counted.push(count), observe: () => undefined },
    clock,
    faults: silentFaults(),
    logger: silentLogger,
  });
  return { devices, plugins, counted, folder, clock };
}

test.each([
  ['example.com/dev', ['v1beta1'], undefined],
  ['example.com/dev', ['v1'], 'manager version, v1beta1, is not among plugin supported versions [v1]'],
  ['plain', ['v1'], 'manager version, v1beta1, is not among plugin supported versions [v1]'],
  ['plain', ['v1beta1'], 'invalid name of device plugin socket: the ResourceName "plain" is invalid'],
  ['cpu', ['v1beta1'], 'invalid name of device plugin socket: the ResourceName "cpu" is invalid'],
  [
    'kubernetes.io/x',
    ['v1beta1'],
    'invalid name of device plugin socket: the ResourceName "kubernetes.io/x" is invalid',
  ],
  ['a.example/b/c', ['v1beta1'], 'invalid name of device plugin socket: the ResourceName "a.example/b/c" is invalid'],
])('takes a plugin of plugins_registry only with a name and a version of devices: %s %j', async (...row) => {
  const [name, supportedVersions, expected] = row;
  const { validate } = (await makeDevices()).devices.pluginHandler;
  const answer = (): string | undefined => {
    try {
      validate({ name, supportedVersions });
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(answer()).toBe(expected);
});

test('every request of a plugin to register is counted, and no plugin of plugins_registry', async () => {
  const { devices, plugins, counted } = await makeDevices();
  await devices.start();
  onTestFinished(() => devices.close());
  await devices.serve();
  const silent = goodPlugin(healthy('d0'));
  silent.answers['getDevicePluginOptions'] = () => Promise.reject(new Error('not now'));
  const results = [];
  for (const [resource, plugin] of [
    ['a.example/dev', goodPlugin(healthy('d0'))],
    ['a.example/silent', silent],
    ['plain', goodPlugin(healthy('d0'))],
  ] as const) {
    results.push(await plugins.register(resource, plugin).then(() => 'taken', errorMessage));
  }
  await devices.pluginHandler.register({ name: 'a.example/other', endpoint: 'dev.sock' });
  expect({ results, counted }).toEqual({
    results: ['taken', 'failed to get device plugin options: not now', 'the ResourceName "plain" is invalid'],
    counted: ['a.example/dev', 'a.example/silent', 'plain'].map((name) => [
      'kubelet_device_plugin_registration_total',
      { resource_name: name },
    ]),
  });
});

test('a plugin stays connected when the socket of the one that it replaced goes', async () => {
  const { devices, plugins, clock } = await makeDevices();
  await devices.start();
  onTestFinished(() => devices.close());
  const [old, next] = [goodPlugin(healthy('d0')), goodPlugin(healthy('d0', 'd1'))];
  await plugins.register('a.example/old', old);
  await plugins.register('a.example/new', next);
  const { register, deRegister } = devices.pluginHandler;
  const seen: unknown[] = [];
  const look = async (): Promise<void> => {
    await clock.advance(200);
    seen.push({ streams: [old.streams.size, next.streams.size], healthy: devices.allocatable().map(({ id }) => id) });
  };
  await register({ name: 'a.example/dev', endpoint: '/plugins/old.sock' });
  await look();
  await register({ name: 'a.example/dev', endpoint: '/plugins/new.sock' });
  await look();
  deRegister({ name: 'a.example/dev', endpoint: '/plugins/old.sock' });
  await look();
  deRegister({ name: 'a.example/dev', endpoint: '/plugins/new.sock' });
  await look();
  expect(seen).toEqual([
    { streams: [1, 0], healthy: ['d0'] },
    { streams: [0, 1], healthy: ['d0', 'd1'] },
    { streams: [0, 1], healthy: ['d0', 'd1'] },
    { streams: [0, 0], healthy: [] },
  ]);
});

test('a device is allocatable on each of its nodes, and nowhere with a topology without nodes', async () => {
  const { devices, plugins, clock } = await makeDevices();
  await devices.start();
  onTestFinished(() => devices.close());
  await devices.serve();
  const on = (ID: string, ...nodes: number[]) => ({
    ...{ ID, health: 'Healthy' },
    topology: { nodes: nodes.map((node) => ({ ID: BigInt(node) })) },
  });
  await plugins.register('a.example/dev', goodPlugin([...healthy('none'), on('empty'), on('both', 0, 1)]));
  await clock.advance(200);
  expect(devices.allocatable()).toEqual([
    { resource: 'a.example/dev', id: 'none', node: undefined },
    { resource: 'a.example/dev', id: 'both', node: 0 },
    { resource: 'a.example/dev', id: 'both', node: 1 },
  ]);
});

test('the devices of many pods are known after a start, though their checkpoint has several megabytes', async () => {
  const { devices, plugins, folder } = await makeDevices();
  const response = plugins.allocateResponse.encode({
    envs: { LARGE: 'x'.repeat(200_000) },
    mounts: [],
    devices: [],
    annotations: {},
    cdiDevices: [],
  });
  const numbers = Array.from({ length: 20 }, (_, number) => number);
  const entries = numbers.map((number) => ({
    podUID: `u${number}`,
    containerName: 'main',
    resource: 'a.example/dev',
    idsByNode: new Map([[0, [`d${number}`]]]),
    response,
  }));
  await mkdir(folder);
  await writeFile(
    join(folder, 'kubelet_internal_checkpoint'),
    formatDeviceCheckpoint({ entries, registered: new Map() }),
  );
  await devices.start();
  onTestFinished(() => devices.close());
  expect(numbers.flatMap((number) => devices.allocated(`u${number}`, 'main'))).toEqual(
    numbers.map((number) => ({ resource: 'a.example/dev', id: `d${number}`, node: 0 })),
  );
});
