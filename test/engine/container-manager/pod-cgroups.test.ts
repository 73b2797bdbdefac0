import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import { CgroupRefusalReport } from '../../../src/engine/container-manager/cgroup-refusal-report.ts';
import { CgroupfsManager } from '../../../src/engine/container-manager/cgroupfs-manager.ts';
import { PodCgroups } from '../../../src/engine/container-manager/pod-cgroups.ts';
import { makeNodeConfig } from '../../builders/node-config.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { FakeCgroups } from '../../fakes/fake-cgroups.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const clock = new FakeClock();
const pod = makePod({
  metadata: { uid: 'one' },
  spec: {
    containers: [makeContainer({ resources: { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '64Mi' } } })],
  },
});
const path = 'kubepods/burstable/podone';

let cgroups: FakeCgroups;
let events: EventRecorder;

beforeEach(async () => {
  cgroups = await FakeCgroups.make(2);
  events = new EventRecorder(clock);
});

function podCgroups(node: Partial<ReturnType<typeof makeNodeConfig>> = {}): PodCgroups {
  return new PodCgroups({
    node: makeNodeConfig('/nowhere', { cgroupsPerQOS: true, ...node }),
    cgroups: new CgroupfsManager({ mounts: cgroups.mounts, files: cgroups, clock, driver: 'cgroupfs' }),
    refusals: new CgroupRefusalReport(events),
    exclusiveCPUs: () => new Set(),
    logger: silentLogger,
  });
}

function warnings(): string[] {
  return events.events.flatMap((event: KubeletEvent) =>
    event.type === 'Recorded' ? [`${event.eventType} ${event.reason}: ${event.message}`] : [],
  );
}

describe('before a pod starts', () => {
  test('its cgroup has the limits of the whole pod', async () => {
    await podCgroups({ podPidsLimit: 100 }).ensure(pod, false);
    expect(await cgroups.settings(path)).toMatchObject({
      'cpu.weight': '10',
      'cpu.max': '50000 100000',
      'memory.max': '67108864',
      'pids.max': '100',
    });
    expect(warnings()).toEqual([]);
  });

  test('a cgroup that an interrupted start left without limits gets them', async () => {
    await cgroups.makeFolder(`${cgroups.mounts.hierarchies[0] ?? ''}/${path}`);
    await podCgroups().ensure(pod, false);
    expect(await cgroups.settings(path)).toMatchObject({ 'memory.max': '67108864' });
  });

  test('without cgroups for pods nothing is made', async () => {
    await podCgroups({ cgroupsPerQOS: false }).ensure(pod, false);
    expect(await cgroups.settings('kubepods')).toBeUndefined();
  });

  test('what the machine refuses is reported once, with what it means, and the pod starts', async () => {
    cgroups.refuse(/memory.max$/, 'EPERM');
    const subject = podCgroups();
    await subject.ensure(pod, false);
    await subject.ensure({ ...pod, metadata: { ...pod.metadata, uid: 'two' } }, false);
    expect(await cgroups.settings(path)).toMatchObject({ 'cpu.weight': '10' });
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^Warning CgroupLimitRefused: cgroup controller memory: pods as a whole have no memory limit; .*EPERM/,
      ),
    ]);
  });

  test('a limit on processes that was asked for holds, or the pod does not start', async () => {
    cgroups.refuse(/pids.max$/, 'EPERM');
    await expect(podCgroups({ podPidsLimit: 100 }).ensure(pod, false)).rejects.toThrow(
      '--pod-max-pids cannot be enforced',
    );
    await expect(podCgroups().ensure(pod, false)).resolves.toBeUndefined();
  });
});

describe('while a pod runs', () => {
  test('its cgroup stays as it was made', async () => {
    await podCgroups().ensure(pod, false);
    cgroups.writes.length = 0;
    await podCgroups({ podPidsLimit: 5 }).ensure(pod, true);
    expect(cgroups.writes).toEqual([]);
  });

  test('a cgroup that is missing is made, for the containers to come', async () => {
    await podCgroups().ensure(pod, true);
    expect(await cgroups.settings(path)).toMatchObject({ 'memory.max': '67108864' });
  });
});

describe('when a pod is removed', () => {
  test('its cgroup goes, whatever class it was, and no other', async () => {
    const subject = podCgroups();
    await subject.ensure(pod, false);
    await subject.ensure({ ...pod, metadata: { ...pod.metadata, uid: 'two' } }, false);
    await cgroups.addProcess(path, 41);
    await subject.remove('one');
    expect(cgroups.killed).toEqual([41]);
    expect(await cgroups.settings(path)).toBeUndefined();
    expect(await cgroups.settings('kubepods/burstable/podtwo')).toBeDefined();
  });

  test('where cgroups may not be removed it is done all the same', async () => {
    const subject = podCgroups();
    await subject.ensure(pod, false);
    cgroups.refuse(/podone/, 'EROFS');
    await expect(subject.remove('one')).resolves.toBeUndefined();
  });

  test('of a uid that no cgroup can have there is nothing to remove', async () => {
    await expect(podCgroups().remove('a_b')).resolves.toBeUndefined();
  });
});

describe('while a pod runs', () => {
  const larger = {
    ...pod,
    spec: {
      ...pod.spec,
      containers: [makeContainer({ resources: { requests: { cpu: '1' }, limits: { cpu: '250m', memory: '128Mi' } } })],
    },
  };

  test('its limits change one by one, or all at once', async () => {
    const subject = podCgroups();
    await subject.ensure(pod, false);
    const settings = { 'cpu.weight': '10', 'cpu.max': '50000 100000', 'memory.max': '67108864' };
    expect(await cgroups.settings(path)).toMatchObject(settings);
    await subject.setLimits(larger, { hugePageLimits: new Map(), memoryBytes: 134_217_728n });
    expect(await cgroups.settings(path)).toMatchObject({ ...settings, 'memory.max': '134217728' });
    await subject.resize(larger);
    expect(await cgroups.settings(path)).toMatchObject({
      'cpu.weight': '39',
      'cpu.max': '25000 100000',
      'memory.max': '134217728',
    });
  });

  test('they are not lowered below what it uses, but for page cache', async () => {
    const subject = podCgroups();
    await subject.ensure(larger, false);
    const write = async (usage: number): Promise<void> => {
      const folder = join(cgroups.mounts.hierarchies[0] ?? '', path);
      await writeFile(join(folder, 'memory.current'), `${usage}\n`);
      await writeFile(join(folder, 'memory.stat'), 'anon 5\ninactive_file 1000\n');
    };
    await write(67_108_864 + 1000);
    await expect(subject.rejectMemoryInUse(pod)).rejects.toThrow(
      'the pod uses 67108864 bytes of memory, but its new limit is 67108864',
    );
    await write(67_108_864 + 999);
    await subject.rejectMemoryInUse(pod);
  });

  test('a limit that the kernel cannot lower now is an error, which is tried again', async () => {
    const subject = podCgroups();
    await subject.ensure(larger, false);
    cgroups.refuse(/memory.max$/, 'EBUSY');
    await expect(subject.resize(pod)).rejects.toThrow(/memory.max: EBUSY/);
    cgroups.allowAll();
    await subject.resize(pod);
    expect(warnings()).toEqual([]);
  });
});
