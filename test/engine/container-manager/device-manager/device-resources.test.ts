import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { DeviceResources } from '../../../../src/engine/container-manager/device-manager/device-resources.ts';
import { connectDevicePlugin } from '../../../../src/plugins/plugin-connections.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { FakePlugin } from '../../../fakes/fake-plugin.ts';
import { silentFaults } from '../../../fakes/silent-faults.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const resource = 'a.example/dev';

test('the list of a plugin is no longer read once another replaces it, or the agent stops', async () => {
  const folder = await temporaryFolder();
  let warnings = 0;
  const resources = new DeviceResources({
    connect: (path) => connectDevicePlugin(path, systemClock),
    onChange: () => undefined,
    clock: new FakeClock(),
    faults: silentFaults(),
    logger: { ...silentLogger, warn: () => (warnings += 1) },
  });
  const plugins = await Promise.all(
    ['old', 'new'].map(async (name) => {
      const [plugin, path] = [new FakePlugin(), join(folder, `${name}.sock`)];
      await plugin.listen(path);
      onTestFinished(() => {
        plugin.crash();
      });
      await resources.connect(resource, path);
      await plugin.calls.next(({ call }) => call === 'listAndWatch');
      return plugin;
    }),
  );
  const left = plugins.map((plugin) => plugin.calls.next(({ call }) => call === 'listAndWatch cancelled'));
  await Promise.race(left);
  resources.close();
  await Promise.all(left);
  expect(warnings).toBe(0);
});

test('a resource whose plugin fails before its first list has no devices for five minutes', async () => {
  const path = join(await temporaryFolder(), 'plugin.sock');
  const clock = new FakeClock();
  const changes: string[] = [];
  let onLost = (): void => undefined;
  const lost = new Promise<void>((resolve) => {
    onLost = resolve;
  });
  const resources = new DeviceResources({
    connect: (socketPath) => connectDevicePlugin(socketPath, systemClock),
    onChange: (name) => {
      changes.push(name);
      onLost();
    },
    clock,
    faults: silentFaults(),
    logger: silentLogger,
  });
  const plugin = new FakePlugin();
  await plugin.listen(path);
  await resources.connect(resource, path);
  await plugin.calls.next(({ call }) => call === 'listAndWatch');
  const connected = resources.devices(resource);
  plugin.crash();
  await lost;
  const failed = resources.devices(resource);
  await clock.advance(5 * 60_000);
  expect({ connected, failed, later: resources.devices(resource), changes }).toEqual({
    connected: undefined,
    failed: new Map(),
    later: undefined,
    changes: [resource, resource],
  });
});
