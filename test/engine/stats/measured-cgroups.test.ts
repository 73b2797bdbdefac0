import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { CgroupSources } from '../../../src/engine/stats/cgroup-sources.ts';
import { IdleCgroups } from '../../../src/engine/stats/idle-cgroups.ts';
import { KernelFiles } from '../../../src/engine/stats/kernel-files.ts';
import { type StillValues, measureNode, measurePod } from '../../../src/engine/stats/measured-cgroups.ts';
import { PodCgroupPaths } from '../../../src/engine/stats/pod-cgroup-paths.ts';
import type { StatsPod } from '../../../src/engine/stats/stats-pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { cgroupDetailsV1, cgroupDetailsV2, cgroupV1, cgroupV2, describedTree, procFiles } from './described-machine.ts';

const time = '2025-01-01T00:00:00.000Z';
const startTime = '2024-12-30T23:06:40.000Z';
const startedAt = Date.parse(startTime);
const pod: StatsPod = {
  ...{ uid: 'u1', name: 'web-edge1', namespace: 'default', startedAt, sandboxID: 'sandbox1', hasNetwork: true },
  containers: [{ id: 'c1', name: 'main', startedAt }],
};
const podRef = { name: 'web-edge1', namespace: 'default', uid: 'u1' };
const path = '/kubepods/burstable/podu1';

/** The same figures in both versions. */
const memory = {
  ...{ cacheBytes: 4096, mappedFileBytes: 1024, activeFileBytes: 256, inactiveFileBytes: 128, kernelBytes: 64 },
  ...{ maxUsageBytes: 99999, failures: 3, oomKills: 1, reservationBytes: 0, swapLimitBytes: 0 },
};
const cpu = {
  ...{ userSeconds: 2.5, systemSeconds: 0.5, periods: 10, throttledPeriods: 4, throttledSeconds: 0.5 },
  ...{ burstPeriods: 0, burstSeconds: 0 },
  ...{ quotaMicros: 50000, periodMicros: 100000 },
};
const devices = [{ device: '8:0', readBytes: 4096, writtenBytes: 512, reads: 2, writes: 1 }];
const counters = { rxPackets: 1, rxDropped: 0, txPackets: 1, txDropped: 0 };

let procFolder: string;

beforeEach(async () => {
  procFolder = await describedTree(procFiles);
});

function requestOf(sources: CgroupSources) {
  const paths = new PodCgroupPaths({ sources, cgroupRoot: '/' });
  const files = { files: new KernelFiles(), cgroupFiles: new KernelFiles() };
  const idle = new IdleCgroups<StillValues>(new FakeClock());
  return { ...files, idle, host: { cgroups: sources, procFolder }, paths, now: Date.parse(time) };
}

test.each([
  [
    1,
    (cgroup: string) => ({
      ...cgroupV1(cgroup, { memoryKiB: 100, limitKiB: 128, tasks: 5 }),
      ...cgroupDetailsV1(cgroup),
    }),
    (top: string): CgroupSources => {
      const source = (name: string) => ({ version: 1, top: join(top, name) }) as const;
      const [quota, io] = [source('cpu'), source('blkio')];
      return { cpu: source('cpuacct'), memory: source('memory'), pids: source('pids'), quota, io };
    },
    `memory${path}`,
    512,
  ],
  [
    2,
    (cgroup: string) => ({
      ...cgroupV2(cgroup, { memoryKiB: 100, limitKiB: 128, tasks: 5 }),
      ...cgroupDetailsV2(cgroup),
    }),
    (top: string): CgroupSources => {
      const source = { version: 2, top } as const;
      return { cpu: source, memory: source, pids: source, quota: source, io: source };
    },
    path,
    500,
  ],
] as const)('cgroup v%i has the details of a pod, its sandbox and its containers', async (...row) => {
  const [, filesOf, sourcesOf, folder, shares] = row;
  const top = await describedTree({
    ...filesOf(path),
    ...filesOf(`${path}/sandbox1`),
    ...filesOf(`${path}/c1`),
    [`${folder}/sandbox1/cgroup.procs`]: '4242\n',
    [`${folder}/c1/cgroup.procs`]: '77\n78\n',
  });
  const details = {
    cpu: { ...cpu, shares },
    memory: { ...memory, limitBytes: 128 * 1024 },
    ...{ threads: 5, maxThreads: 0, devices },
  };
  const [ofPod, sandbox, container, ...others] = measurePod(requestOf(sourcesOf(top)), pod);
  expect(others).toEqual([]);
  expect(ofPod).toEqual({ of: 'pod', path, pod: podRef, time, startTime, details });
  expect(sandbox).toEqual({
    ...{ of: 'sandbox', path: `${path}/sandbox1`, pod: podRef, runtimeID: 'sandbox1', time, startTime, details },
    usage: { cpu: expect.anything() as object, memory: expect.objectContaining({ usageBytes: 102400 }) as object },
    ...{ processes: 1, openFilesLimit: 1024 },
    interfaces: [{ name: 'eth0', rxBytes: 10, rxErrors: 0, txBytes: 20, txErrors: 0, ...counters }],
  });
  expect(container).toEqual({
    ...{ of: 'container', path: `${path}/c1`, pod: podRef, container: 'main', runtimeID: 'c1' },
    ...{ time, startTime, details, processes: 2 },
  });
});

test('a machine has the details of its root cgroup, its disks and its network', async () => {
  const top = await describedTree({ ...cgroupV2('', { tasks: 9 }), ...cgroupV2('/kubepods', { memoryKiB: 8 }) });
  const source = { version: 2, top } as const;
  const [node, pods, ...others] = measureNode(requestOf({ cpu: source, memory: source }), '/kubepods');
  expect(others).toEqual([]);
  expect(node).toMatchObject({ of: 'node', path: '/', details: { cpu: { userSeconds: 0.000001 } } });
  expect(node?.disks).toEqual([
    {
      ...{ number: '8:0', name: 'sda', reads: 10, readsMerged: 1, sectorsRead: 80, readSeconds: 0.5 },
      ...{ writes: 20, writesMerged: 2, sectorsWritten: 160, writeSeconds: 1.5 },
      ...{ inProgress: 1, ioSeconds: 2, weightedSeconds: 2.5 },
    },
  ]);
  expect(node?.interfaces).toEqual([
    { name: 'eth0', rxBytes: 100, rxErrors: 1, txBytes: 200, txErrors: 2, ...counters },
  ]);
  expect(pods).toMatchObject({ of: 'pods', path: '/kubepods', usage: { memory: { usageBytes: 8192 } } });
});

test('a cgroup whose files are missing or hold something else has no figures', async () => {
  const top = await describedTree({ [`${path}/cgroup.procs`]: '0\n', [`${path}/memory.stat`]: 'file -1\nanon x\n' });
  const source = { version: 2, top } as const;
  const sources = { cpu: source, memory: source, pids: source, quota: source, io: source };
  const [ofPod] = measurePod(requestOf(sources), pod);
  expect(ofPod?.details).toEqual({ cpu: {}, memory: {}, devices: [] });
});
