import { beforeEach, describe, expect, test } from 'vitest';
import { CgroupDriver } from '../../../src/cri/generated/cri.ts';
import { readCgroupDriver } from '../../../src/engine/container-manager/read-cgroup-driver.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

let runtime: FakeRuntime;

beforeEach(() => {
  runtime = new FakeRuntime({ clock: new FakeClock() });
});

test('the runtime says which driver it uses, whatever was configured', async () => {
  expect(await readCgroupDriver(runtime, 'systemd')).toBe('cgroupfs');
  runtime.cgroupDriver = CgroupDriver.SYSTEMD;
  expect(await readCgroupDriver(runtime, 'cgroupfs')).toBe('systemd');
});

describe('of a runtime that does not say', () => {
  beforeEach(() => {
    runtime.injectError('runtimeConfig', new Refusal(codes.unimplemented, 'unknown method RuntimeConfig'));
  });

  test.each([
    [true, 'systemd'],
    [false, 'cgroupfs'],
  ])('the configuration that containerd shows tells, SystemdCgroup = %s', async (SystemdCgroup, driver) => {
    const runtimes = { crun: { options: null }, runc: { options: { SystemdCgroup } } };
    runtime.statusInfo = { config: JSON.stringify({ containerd: { defaultRuntimeName: 'runc', runtimes } }) };
    expect(await readCgroupDriver(runtime, 'cgroupfs')).toBe(driver);
    runtime.injectError('runtimeConfig', new Refusal(codes.unimplemented, 'unknown method RuntimeConfig'));
    expect(await readCgroupDriver(runtime, 'systemd')).toBe(driver);
  });

  test.each([undefined, 'no JSON', '{}', '{"containerd":{"defaultRuntimeName":"runc","runtimes":{}}}'])(
    'what was configured counts when it shows %s',
    async (config) => {
      if (config !== undefined) runtime.statusInfo = { config };
      expect(await readCgroupDriver(runtime, 'systemd')).toBe('systemd');
    },
  );
});

test('a runtime that fails to answer differs from one that reports no driver', async () => {
  runtime.injectError('runtimeConfig', new Refusal(codes.unavailable, 'gone'));
  await expect(readCgroupDriver(runtime, 'cgroupfs')).rejects.toThrow('gone');
});
