import { expect, test } from 'vitest';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { nodeCgroupDriver } from '../../src/node/node-cgroup-driver.ts';
import type { NodeOptions } from '../../src/node/options/node-options.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';

test.each([
  [true, 'cgroupfs'],
  [false, 'systemd'],
])('with KubeletCgroupDriverFromCRI %s the cgroup driver is %s', async (isAsked, driver) => {
  const options = {
    cgroupDriver: 'systemd',
    featureGates: { ...defaultFeatureGates, KubeletCgroupDriverFromCRI: isAsked },
  } as NodeOptions;
  expect(await nodeCgroupDriver(options, new FakeRuntime({ clock: new FakeClock() }))).toBe(driver);
});
