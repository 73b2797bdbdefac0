import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { CgroupfsManager } from '../../../src/engine/container-manager/cgroupfs-manager.ts';
import { ContainerManager } from '../../../src/engine/container-manager/container-manager.ts';
import type { NodeAllocatableSettings } from '../../../src/engine/container-manager/node-allocatable.ts';
import { removeEmptyQOSCgroups } from '../../../src/engine/container-manager/remove-pod-cgroup.ts';
import type { NodeResources } from '../../../src/engine/kuberuntime/request/linux-resources.ts';
import { UserError } from '../../../src/errors.ts';
import { makeNodeConfig } from '../../builders/node-config.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { FakeCgroups } from '../../fakes/fake-cgroups.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const clock = new FakeClock();

let cgroups: FakeCgroups;
let events: EventRecorder;
let gauges: Map<string, number>;
let activePods: Pod[];
let ownPodUIDs: string[];

beforeEach(async () => {
  cgroups = await FakeCgroups.make(2, ['cpu', 'memory', 'pids']);
  events = new EventRecorder(clock);
  gauges = new Map();
  activePods = [];
  ownPodUIDs = [];
});

function containerManager(
  nodeAllocatable: Partial<NodeAllocatableSettings> = {},
  Manager: typeof CgroupfsManager = CgroupfsManager,
  resources: Partial<NodeResources> = {},
): ContainerManager {
  const reservations = {
    capacity: { cpu: '4', memory: '8Gi', pid: '1000' },
    systemReserved: { cpu: '1', memory: '1Gi' },
    kubeReserved: { cpu: '500m', pid: '100' },
    evictionHard: { 'memory.available': '100Mi' },
  };
  const defaults = { reservations, enforce: ['pods'], systemReservedCgroup: '', kubeReservedCgroup: '' } as const;
  const node = makeNodeConfig('/nowhere');
  return new ContainerManager({
    node: {
      ...node,
      cgroupsPerQOS: true,
      nodeAllocatable: { ...defaults, ...nodeAllocatable },
      containerNode: { ...node.containerNode, resources: { ...node.containerNode.resources, ...resources } },
    },
    cgroups: new Manager({ mounts: cgroups.mounts, files: cgroups, clock, driver: 'cgroupfs' }),
    activePods: () => activePods,
    ownPodUIDs: () => Promise.resolve(ownPodUIDs),
    exclusiveCPUs: () => new Set(),
    emit: events.emit,
    meter: { set: (name, value) => void gauges.set(name, value) },
    logger: silentLogger,
  });
}

function burstable(uid: string, cpu: string): Pod {
  const containers = [makeContainer({ resources: { requests: { cpu } } })];
  return makePod({ metadata: { uid }, spec: { containers } });
}

function withMemory(memory: string, limit?: string): Pod {
  const limits = limit === undefined ? {} : { cpu: '1', memory: limit };
  const containers = [makeContainer({ resources: { requests: { cpu: '1', memory }, limits } })];
  return makePod({ spec: { containers } });
}

function recorded(): string[] {
  return events.events.flatMap((event) => (event.type === 'Recorded' ? [`${event.reason}: ${event.message}`] : []));
}

describe('at the start', () => {
  test('all pods together are held to what the node does not keep', async () => {
    await containerManager().start();
    expect(await cgroups.settings('kubepods')).toEqual({
      'cpu.weight': '98',
      'cpu.max': '',
      'memory.max': String(7n * 1024n ** 3n),
      'memory.min': '0',
      'memory.low': '0',
      'memory.high': 'max',
      'pids.max': '900',
    });
    expect(recorded()).toEqual(['NodeAllocatableEnforced: Updated limits on /kubepods']);
  });

  test('without that enforcement they are held to what the node has', async () => {
    await containerManager({ enforce: [] }).start();
    expect(await cgroups.settings('kubepods')).toMatchObject({ 'memory.max': String(8n * 1024n ** 3n) });
    expect(recorded()).toEqual([]);
  });

  test('the QoS classes begin with the smallest share', async () => {
    await containerManager().start();
    expect(await cgroups.settings('kubepods/burstable')).toMatchObject({ 'cpu.weight': '1', 'memory.max': '' });
    expect(await cgroups.settings('kubepods/besteffort')).toMatchObject({ 'cpu.weight': '1', 'memory.max': '' });
  });

  test('the share of pods that an earlier life left stays until they are known', async () => {
    await containerManager().start();
    cgroups.writes.length = 0;
    await containerManager().start();
    expect(cgroups.writes.filter((write) => write.includes('burstable'))).toEqual([]);
  });

  test('a machine that refuses cgroups is reported once for each controller', async () => {
    cgroups.refuse(/^(kubepods|cgroup.subtree_control)/, 'EROFS');
    const manager = containerManager();
    await manager.start();
    activePods = [burstable('one', '1')];
    await manager.qosCgroups.update();
    expect(recorded()).toEqual(
      ['cpu', 'memory', 'pids'].map((controller): unknown =>
        expect.stringMatching(`^CgroupLimitRefused: cgroup controller ${controller}: .*EROFS`),
      ),
    );
  });
});

describe('what is reserved', () => {
  const enforce = ['system-reserved', 'kube-reserved-compressible'] as const;
  const settings = { enforce, systemReservedCgroup: '/system', kubeReservedCgroup: '/agent' };

  test('is enforced on the cgroups that were named', async () => {
    const [top = ''] = cgroups.mounts.hierarchies;
    await cgroups.makeFolder(`${top}/system`);
    await cgroups.makeFolder(`${top}/agent`);
    await containerManager(settings).start();
    expect(await cgroups.settings('system')).toMatchObject({ 'cpu.weight': '39', 'memory.max': String(1024n ** 3n) });
    expect(await cgroups.settings('agent')).toMatchObject({ 'cpu.weight': '20', 'pids.max': '' });
  });

  test('needs those cgroups', async () => {
    await expect(containerManager(settings).start()).rejects.toThrow(UserError);
    await expect(containerManager(settings).start()).rejects.toThrow(
      '--system-reserved-cgroup: the cgroup /system is missing',
    );
  });
});

describe('when pods come and go', () => {
  test('the Burstable ones share what they ask for together', async () => {
    const manager = containerManager();
    await manager.start();
    activePods = [burstable('one', '1'), burstable('two', '2'), makePod()];
    await manager.qosCgroups.update();
    expect(await cgroups.settings('kubepods/burstable')).toMatchObject({ 'cpu.weight': '118' });
    activePods = [];
    await manager.qosCgroups.update();
    expect(await cgroups.settings('kubepods/burstable')).toMatchObject({ 'cpu.weight': '1' });
  });

  test.each([
    [true, { all: [160n, 96n], burstable: 96n }],
    [false, { all: [0n, 0n], burstable: 0n }],
  ])('with MemoryQoS their requests are kept free by TieredReservation only: %s', async (reservesMemory, expected) => {
    const memoryQoS = { throttlingFactor: 0.9, allocatableMemoryBytes: 2n ** 33n, reservesMemory };
    const manager = containerManager({}, CgroupfsManager, { memoryQoS });
    await manager.start();
    activePods = [withMemory('32Mi'), withMemory('64Mi'), withMemory('64Mi', '64Mi'), makePod()];
    await manager.qosCgroups.update();
    const text = (mebibytes?: bigint): unknown => String((mebibytes ?? 0n) * 2n ** 20n);
    expect(await cgroups.settings('kubepods')).toMatchObject({
      'memory.min': text(expected.all[0]),
      'memory.low': text(expected.all[1]),
    });
    expect(await cgroups.settings('kubepods/burstable')).toMatchObject({ 'memory.low': text(expected.burstable) });
    expect(Object.fromEntries(gauges)).toEqual({
      kubelet_memory_qos_node_memory_min_bytes: Number(text(expected.all[0])),
      kubelet_memory_qos_node_memory_low_bytes: Number(text(expected.burstable)),
    });
  });

  test('what MemoryQoS kept free is given back once its gate is off', async () => {
    const memoryQoS = { throttlingFactor: 0.9, allocatableMemoryBytes: 2n ** 33n, reservesMemory: true };
    activePods = [withMemory('32Mi'), withMemory('64Mi', '64Mi')];
    const before = containerManager({}, CgroupfsManager, { cgroupVersion: 2, memoryQoS });
    await before.start();
    await before.qosCgroups.update();
    await containerManager({}, CgroupfsManager, { cgroupVersion: 2 }).start();
    expect(await cgroups.settings('kubepods')).toMatchObject({ 'memory.min': '0', 'memory.low': '0' });
    expect(await cgroups.settings('kubepods/burstable')).toMatchObject({ 'memory.low': '0' });
    cgroups.writes.length = 0;
    await containerManager({}, CgroupfsManager, { cgroupVersion: 2 }).start();
    expect(cgroups.writes.filter((write) => write.includes('memory.low'))).toEqual([]);
  });

  test('nothing is written while the sum stays', async () => {
    const manager = containerManager();
    await manager.start();
    activePods = [burstable('one', '1')];
    await manager.qosCgroups.update();
    cgroups.writes.length = 0;
    activePods = [burstable('two', '1')];
    await manager.qosCgroups.update();
    expect(cgroups.writes).toEqual([]);
  });

  test('several at once are one update', async () => {
    const manager = containerManager();
    await manager.start();
    cgroups.writes.length = 0;
    activePods = [burstable('one', '1')];
    const updates = [manager.qosCgroups.update(), manager.qosCgroups.update()];
    activePods = [burstable('one', '1'), burstable('two', '1')];
    await Promise.all(updates);
    expect(cgroups.writes).toEqual(['kubepods/burstable/cpu.weight 79']);
  });

  test('a failure is made good by the next update', async () => {
    const manager = containerManager();
    cgroups.refuse(/kubepods/, 'ENOSPC');
    await manager.start();
    expect(await cgroups.settings('kubepods')).toBeUndefined();
    cgroups.allowAll();
    activePods = [burstable('one', '1')];
    await manager.qosCgroups.update();
    expect(await cgroups.settings('kubepods')).toMatchObject({ 'memory.max': String(7n * 1024n ** 3n) });
    expect(await cgroups.settings('kubepods/burstable')).toMatchObject({ 'cpu.weight': '39' });
  });
});

describe('while pods of another agent run below the same cgroup', () => {
  async function addPod(uid: string): Promise<void> {
    await cgroups.makeFolder(`${cgroups.mounts.hierarchies[0] ?? ''}/kubepods/burstable/pod${uid}`);
    await cgroups.addProcess(`kubepods/burstable/pod${uid}`, 41);
  }

  test('its limits are left as they are, which is reported once', async () => {
    await addPod('stranger');
    const manager = containerManager();
    await manager.start();
    activePods = [burstable('one', '1')];
    await manager.qosCgroups.update();
    expect(cgroups.writes).toEqual([]);
    expect(recorded()).toEqual([
      'FailedNodeAllocatableEnforcement: pods of another agent run below /kubepods, so its limits stay unchanged; use --cgroup-root to give this agent a separate cgroup',
    ]);
  });

  test('the limits are set once those are gone', async () => {
    await addPod('stranger');
    const manager = containerManager();
    await manager.start();
    cgroups.kill(41);
    activePods = [burstable('one', '1')];
    await manager.qosCgroups.update();
    expect(await cgroups.settings('kubepods')).toMatchObject({ 'pids.max': '900' });
  });

  test('our own of an earlier life do not count', async () => {
    await addPod('ours');
    ownPodUIDs = ['ours'];
    await containerManager().start();
    expect(await cgroups.settings('kubepods')).toMatchObject({ 'pids.max': '900' });
  });

  test('those are checked one after the other, up to the first in which something runs', async () => {
    const looks: string[] = [];
    class WatchedCgroups extends CgroupfsManager {
      override async isPopulated(path: string): Promise<boolean> {
        looks.push('begin');
        const isPopulated = await super.isPopulated(path);
        looks.push('end');
        return isPopulated;
      }
    }
    const uids = ['a', 'b', 'c'];
    for (const uid of uids) {
      await cgroups.makeFolder(`${cgroups.mounts.hierarchies[0] ?? ''}/kubepods/burstable/pod${uid}`);
    }
    await containerManager({}, WatchedCgroups).start();
    expect(looks.splice(0)).toEqual(['begin', 'end', 'begin', 'end', 'begin', 'end']);
    for (const uid of uids) await cgroups.addProcess(`kubepods/burstable/pod${uid}`, 41);
    await containerManager({}, WatchedCgroups).start();
    expect(looks).toEqual(['begin', 'end']);
  });
});

test('the cgroups over pods go when they are empty, and those with a pod stay', async () => {
  await containerManager().start();
  const manager = new CgroupfsManager({ mounts: cgroups.mounts, files: cgroups, clock, driver: 'cgroupfs' });
  await manager.apply(['kubepods', 'burstable', 'podother'], { hugePageLimits: new Map() });
  const left = async (): Promise<boolean[]> =>
    Promise.all(
      [['kubepods', 'besteffort'], ['kubepods', 'burstable'], ['kubepods']].map((name) => manager.exists(name)),
    );
  await removeEmptyQOSCgroups(manager, '/');
  expect(await left()).toEqual([false, true, true]);
  await manager.destroy(['kubepods', 'burstable', 'podother']);
  await removeEmptyQOSCgroups(manager, '/');
  expect(await left()).toEqual([false, false, false]);
});
