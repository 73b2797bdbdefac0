import { beforeEach, describe, expect, test } from 'vitest';
import { CgroupfsManager } from '../../../src/engine/container-manager/cgroupfs-manager.ts';
import type { Systemd } from '../../../src/engine/container-manager/systemd.ts';
import { SystemdCgroupManager } from '../../../src/engine/container-manager/systemd-cgroup-manager.ts';
import { FakeCgroups } from '../../fakes/fake-cgroups.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const name = ['kubepods', 'burstable', 'pod1-2'];
const unit = 'kubepods-burstable-pod1_2.slice';
const path = `kubepods.slice/kubepods-burstable.slice/${unit}`;
const limits = { cpuShares: 512, memoryBytes: 64n, hugePageLimits: new Map<bigint, bigint>() };

let cgroups: FakeCgroups;
let calls: string[];
let failsWith: Error | undefined;
let warnings: object[];
let manager: SystemdCgroupManager;

beforeEach(async () => {
  cgroups = await FakeCgroups.make(2, ['cpu', 'memory', 'pids']);
  calls = [];
  failsWith = undefined;
  warnings = [];
  const note = (call: string): Promise<void> => {
    calls.push(call);
    return failsWith === undefined ? Promise.resolve() : Promise.reject(failsWith);
  };
  const systemd: Systemd = {
    startTransientUnit: (started, properties) =>
      note(`start ${started} ${properties.find((property) => property.name === 'Wants')?.value.toString() ?? ''}`),
    setUnitProperties: (changed, properties) =>
      note(`set ${changed} ${properties.map((property) => `${property.name}=${property.value.toString()}`).join(' ')}`),
    stopUnit: (stopped) => note(`stop ${stopped}`),
  };
  manager = new SystemdCgroupManager({
    systemd,
    folders: new CgroupfsManager({ mounts: cgroups.mounts, files: cgroups, clock: new FakeClock(), driver: 'systemd' }),
    cgroupVersion: 2,
    logger: {
      ...silentLogger,
      warn: (facts: object) => {
        warnings.push(facts);
      },
    },
  });
});

describe('a cgroup of systemd', () => {
  test('is a slice below that of its parent, with its limits there and in its files', async () => {
    expect(await manager.apply(name, limits)).toEqual([]);
    expect(calls).toEqual([`start ${unit} kubepods-burstable.slice`, `set ${unit} CPUWeight=20 MemoryMax=64`]);
    expect(await cgroups.settings(path)).toMatchObject({ 'memory.max': '64', 'cpu.weight': '20' });
  });

  test('of all pods is below the root', async () => {
    await manager.apply(['kubepods'], limits);
    expect(calls[0]).toBe('start kubepods.slice -.slice');
  });

  test('is stopped before its folders go', async () => {
    await manager.apply(name, limits);
    await manager.destroy(name);
    expect(calls.at(-1)).toBe(`stop ${unit}`);
    expect(await manager.exists(name)).toBe(false);
    calls.length = 0;
    await manager.destroy(name);
    expect(calls).toEqual([]);
  });

  test('is stopped when it is empty, and only then', async () => {
    await manager.apply(name, limits);
    calls.length = 0;
    await manager.removeIfEmpty(['kubepods', 'burstable']);
    await cgroups.addProcess(path, 41);
    await manager.removeIfEmpty(name);
    expect(calls).toEqual([]);
    cgroups.kill(41);
    await manager.removeIfEmpty(name);
    expect(calls).toEqual([`stop ${unit}`]);
    expect(await manager.exists(name)).toBe(false);
  });
});

test('without systemd the files have to do, which is reported once', async () => {
  failsWith = new Error('connect ENOENT /run/dbus/system_bus_socket');
  expect(await manager.apply(name, limits)).toEqual([]);
  await manager.apply(['kubepods'], limits);
  expect(await cgroups.settings(path)).toMatchObject({ 'memory.max': '64' });
  expect(warnings).toEqual([{ err: 'connect ENOENT /run/dbus/system_bus_socket' }]);
  await manager.destroy(name);
  expect(await manager.exists(name)).toBe(false);
});
