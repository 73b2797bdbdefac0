import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { NodeDevices } from '../../../../src/engine/container-manager/device-manager/node-devices.ts';
import { errorMessage } from '../../../../src/errors.ts';
import { DirectPlugins, goodPlugin, healthy } from '../../../fakes/direct-plugins.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentFaults } from '../../../fakes/silent-faults.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

async function makeDevices() {
  const clock = new FakeClock();
  const plugins = new DirectPlugins(clock);
  const counted: unknown[] = [];
  const devices = new NodeDevices({
    folder: join(await temporaryFolder(), 'device-plugins'),
    plugins,
    activePods: () => [],
    sourcesReady: () => true,
    managers: () => undefined,
    onNews: () => undefined,
    onFreed: () => undefined,
    onHealthChanged: undefined,
    meter: { count: (...count) => counted.push(count), observe: () => undefined },
    clock,
    faults: silentFaults(),
    logger: silentLogger,
  });
  return { devices, plugins, counted };
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
