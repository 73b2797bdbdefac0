import { beforeEach, describe, expect, test } from 'vitest';
import { CgroupfsManager } from '../../../src/engine/container-manager/cgroupfs-manager.ts';
import type { CgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import { FakeCgroups } from '../../fakes/fake-cgroups.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

const name = ['kubepods', 'burstable', 'pod1'];
const limits: CgroupLimits = {
  cpuShares: 512,
  cpuQuotaMicros: 50_000,
  cpuPeriodMicros: 100_000,
  memoryBytes: 64n * 1024n ** 2n,
  pidsLimit: 100n,
  hugePageLimits: new Map([[2n * 1024n ** 2n, 0n]]),
};

let cgroups: FakeCgroups;
let manager: CgroupfsManager;
/** Milliseconds. */
let slept: number[];

async function onVersion(...args: Parameters<typeof FakeCgroups.make>): Promise<void> {
  cgroups = await FakeCgroups.make(...args);
  slept = [];
  const sleep = (ms: number): Promise<void> => {
    slept.push(ms);
    return Promise.resolve();
  };
  const clock = Object.assign(new FakeClock(), { sleep });
  manager = new CgroupfsManager({ mounts: cgroups.mounts, files: cgroups, clock, driver: 'cgroupfs' });
}

describe('on cgroup v1', () => {
  beforeEach(() => onVersion(1));

  test('a cgroup is made in the hierarchy of every controller, and only there', async () => {
    expect(await manager.exists(name)).toBe(false);
    expect(await manager.apply(name, limits)).toEqual([]);
    expect(await manager.exists(name)).toBe(true);
    expect(await cgroups.settings('cpu/kubepods/burstable/pod1')).toEqual({
      'cpu.shares': '512',
      'cpu.cfs_period_us': '100000',
      'cpu.cfs_quota_us': '50000',
    });
    expect(await cgroups.settings('memory/kubepods/burstable/pod1')).toEqual({ 'memory.limit_in_bytes': '67108864' });
    expect(await cgroups.settings('pids/kubepods/burstable/pod1')).toEqual({ 'pids.max': '100' });
    expect(await cgroups.settings('hugetlb/kubepods/burstable/pod1')).toEqual({
      'hugetlb.2MB.limit_in_bytes': '0',
      'hugetlb.2MB.rsvd.limit_in_bytes': '0',
    });
    expect(await cgroups.settings('freezer/kubepods')).toBeUndefined();
  });

  test('a limit that is not given is left as it is, and one that is lifted is', async () => {
    await manager.apply(name, { cpuShares: 2, cpuQuotaMicros: -1, hugePageLimits: new Map() });
    expect(cgroups.writes).toEqual([
      'cpu/kubepods/burstable/pod1/cpu.shares 2',
      'cpu/kubepods/burstable/pod1/cpu.cfs_quota_us -1',
    ]);
  });

  test('a refusal of one controller is reported once and does not keep the others from being limited', async () => {
    cgroups.refuse(/^cpu\/.*cpu\./, 'EPERM');
    expect(await manager.apply(name, limits)).toMatchObject([
      { controller: 'cpu', path: expect.stringMatching(/pod1\/cpu\.shares$/) as string, error: { code: 'EPERM' } },
    ]);
    expect(await cgroups.settings('memory/kubepods/burstable/pod1')).toEqual({ 'memory.limit_in_bytes': '67108864' });
  });

  test('a controller that cannot have cgroups of ours is reported', async () => {
    cgroups.refuse(/^memory\/kubepods/, 'EROFS');
    const refusals = await manager.apply(name, limits);
    expect(refusals).toMatchObject([{ controller: 'memory', error: { code: 'EROFS' } }]);
    expect(await cgroups.settings('pids/kubepods/burstable/pod1')).toEqual({ 'pids.max': '100' });
  });

  test('what may succeed the next time is not a refusal', async () => {
    cgroups.refuse(/^pids\//, 'ENOSPC');
    await expect(manager.apply(name, limits)).rejects.toThrow('ENOSPC');
  });

  test('a cgroup is removed with all below it, and what runs in it is killed', async () => {
    await manager.apply([...name, 'main'], limits);
    await cgroups.makeFolder(`${cgroups.mounts.hierarchies.at(-1) ?? ''}/kubepods/burstable/pod1/main`);
    await manager.destroy(name);
    expect(await cgroups.settings('cpu/kubepods/burstable')).toBeDefined();
    expect(await cgroups.settings('cpu/kubepods/burstable/pod1')).toBeUndefined();
    expect(await cgroups.settings('freezer/kubepods/burstable/pod1')).toBeUndefined();
    await expect(manager.destroy(name)).resolves.toBeUndefined();
  });

  test('a process counts in whichever hierarchy it is', async () => {
    await manager.apply(name, limits);
    await cgroups.makeFolder(`${cgroups.mounts.hierarchies.at(-1) ?? ''}/kubepods/burstable/pod1/main`);
    expect(await manager.isPopulated('/kubepods/burstable/pod1')).toBe(false);
    await cgroups.addProcess('freezer/kubepods/burstable/pod1/main', 41);
    expect(await manager.isPopulated('/kubepods/burstable/pod1')).toBe(true);
  });
});

describe('on cgroup v2', () => {
  beforeEach(() => onVersion(2));

  test('a cgroup is made once, with the controllers handed down from the top', async () => {
    expect(await manager.apply(name, limits)).toEqual([]);
    expect(await cgroups.settings('kubepods/burstable/pod1')).toEqual({
      'cpu.weight': '20',
      'cpu.max': '50000 100000',
      'memory.max': '67108864',
      'memory.min': '0',
      'memory.low': '0',
      'memory.high': 'max',
      'pids.max': '100',
      'hugetlb.2MB.max': '0',
      'hugetlb.2MB.rsvd.max': '0',
    });
    const handedDown = cgroups.writes.filter((write) => write.includes('subtree_control'));
    expect(handedDown).toEqual(
      ['', 'kubepods/', 'kubepods/burstable/'].flatMap((folder) =>
        ['cpu', 'memory', 'pids', 'hugetlb'].map((name) => `${folder}cgroup.subtree_control +${name}`),
      ),
    );
    cgroups.writes.length = 0;
    await manager.apply(['kubepods', 'burstable', 'pod2'], { cpuShares: 2, hugePageLimits: new Map() });
    expect(cgroups.writes).toEqual(['kubepods/burstable/pod2/cpu.weight 1']);
  });

  test('a CPU limit is lifted by its own word', async () => {
    await manager.apply(name, { cpuQuotaMicros: -1, cpuPeriodMicros: 20_000, hugePageLimits: new Map() });
    expect(await cgroups.settings('kubepods/burstable/pod1')).toMatchObject({ 'cpu.max': 'max 20000' });
  });

  test('in a container its processes make way, because a cgroup with processes hands no controller down', async () => {
    await cgroups.beInContainer();
    for (const pid of [1, 7, 12]) await cgroups.addProcess('', pid);
    expect(await manager.apply(name, limits)).toEqual([]);
    expect(await cgroups.processes('')).toEqual([]);
    expect(await cgroups.processes('init')).toEqual([1, 7, 12]);
    expect(await cgroups.settings('kubepods/burstable/pod1')).toMatchObject({ 'cpu.weight': '20', 'pids.max': '100' });
  });

  test('a process of the container that started meanwhile makes way too', async () => {
    await cgroups.beInContainer();
    for (const pid of [1, 7]) await cgroups.addProcess('', pid);
    // The first one starts another when it has moved.
    const write = cgroups.write.bind(cgroups);
    cgroups.write = async (path, value) => {
      await write(path, value);
      if (path.endsWith('/init/cgroup.procs') && value === '1') await cgroups.addProcess('', 8);
    };
    expect(await manager.apply(name, limits)).toEqual([]);
    expect(await cgroups.processes('init')).toEqual([1, 7, 8]);
  });

  test('processes that may not be moved, and those of other namespaces of processes, stay, and are in the way', async () => {
    await cgroups.beInContainer();
    for (const pid of [0, 7]) await cgroups.addProcess('', pid);
    expect(await manager.apply(name, limits)).toMatchObject([
      { controller: 'cpu', error: { code: 'EBUSY' } },
      { controller: 'memory', error: { code: 'EBUSY' } },
      { controller: 'pids', error: { code: 'EBUSY' } },
      { controller: 'hugetlb', error: { code: 'EBUSY' } },
    ]);
    expect([await cgroups.processes(''), await cgroups.processes('init')]).toEqual([[0], [7]]);
  });

  test('a controller that is not handed down, as processes are in the way, is reported', async () => {
    cgroups.refuse(/^cgroup.subtree_control$/, 'EBUSY');
    const refusals = await manager.apply(name, limits);
    expect(refusals.map(({ controller, error }) => `${controller} ${error.message}`)).toEqual(
      ['cpu', 'memory', 'pids', 'hugetlb'].flatMap((controller) => {
        const path = cgroups.mounts.hierarchies[0] ?? '';
        return [`${controller} EBUSY: refused, '${path}/cgroup.subtree_control'`];
      }),
    );
  });

  test('a kernel without limits on reserved huge pages misses nothing', async () => {
    cgroups.refuse(/rsvd/, 'ENOENT');
    expect(await manager.apply(name, limits)).toEqual([]);
  });

  test('processes are killed until their cgroup can go', async () => {
    await manager.apply([...name, 'main'], limits);
    await cgroups.addProcess('kubepods/burstable/pod1', 41);
    await cgroups.addProcess('kubepods/burstable/pod1/main', 42, { survives: 2 });
    await manager.destroy(name);
    expect(cgroups.killed).toEqual([41, 42, 42, 42]);
    expect(slept).toEqual([10, 20]);
    expect(await cgroups.settings('kubepods/burstable/pod1')).toBeUndefined();
  });

  test('processes that do not end keep their cgroup, and those of other process namespaces are not ours to end', async () => {
    await manager.apply(name, limits);
    await cgroups.addProcess('kubepods/burstable/pod1', 0);
    await expect(manager.destroy(name)).rejects.toThrow('EBUSY');
    expect(cgroups.killed).toEqual([]);
    expect(slept).toEqual([10, 20, 40, 80, 160]);
  });

  test('only an empty cgroup is removed when that was asked', async () => {
    await manager.apply(name, limits);
    await manager.removeIfEmpty(['kubepods', 'burstable']);
    expect(await manager.exists(name)).toBe(true);
    await cgroups.addProcess('kubepods/burstable/pod1', 41);
    await manager.removeIfEmpty(name);
    expect(await manager.exists(name)).toBe(true);
    cgroups.kill(41);
    await manager.removeIfEmpty(name);
    expect(await manager.exists(name)).toBe(false);
    await expect(manager.removeIfEmpty(name)).resolves.toBeUndefined();
  });

  test('what is in a cgroup or below counts as its processes', async () => {
    await manager.apply([...name, 'main'], limits);
    expect(await manager.isPopulated('/kubepods/burstable')).toBe(false);
    await cgroups.addProcess('kubepods/burstable/pod1/main', 41);
    expect(await manager.isPopulated('/kubepods/burstable')).toBe(true);
    expect(await manager.children(['kubepods', 'burstable'])).toEqual(['/kubepods/burstable/pod1']);
    expect(await manager.children(['elsewhere'])).toEqual([]);
  });
});

test('a controller that the kernel lacks is told, huge pages apart', async () => {
  await onVersion(2, ['cpu', 'pids']);
  expect(await manager.apply(name, limits)).toEqual([
    { controller: 'memory', path: 'memory.max', error: new Error('the kernel does not offer this controller') },
  ]);
});

test('folders are named as systemd names slices when that is the driver', async () => {
  await onVersion(2);
  manager = new CgroupfsManager({ mounts: cgroups.mounts, files: cgroups, clock: new FakeClock(), driver: 'systemd' });
  await manager.apply(name, limits);
  const path = 'kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice';
  expect(await cgroups.settings(path)).toMatchObject({ 'cpu.weight': '20' });
  expect(await manager.children(['kubepods', 'burstable'])).toEqual([`/${path}`]);
});
