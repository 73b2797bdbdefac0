import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { type ContainerStats, type DeepPartial, ListContainerStatsResponse } from '../../../src/cri/generated/cri.ts';
import type { CgroupSources } from '../../../src/engine/stats/cgroup-sources.ts';
import { DiskUsageCache } from '../../../src/engine/stats/disk-usage-cache.ts';
import { Filesystems } from '../../../src/engine/stats/filesystem-stats.ts';
import { RuntimeStats } from '../../../src/engine/stats/runtime-stats.ts';
import { Sampler } from '../../../src/engine/stats/sampler.ts';
import type { StatsPod } from '../../../src/engine/stats/stats-pods.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { openIn } from './open-in.ts';
import {
  cgroupDetailsV1,
  cgroupDetailsV2,
  cgroupV1,
  cgroupV2,
  describedTree,
  netDev,
  procFiles,
  writeAt,
} from './described-machine.ts';

const time = '2025-01-01T00:00:00.000Z';
const startTime = '2024-12-30T23:06:40.000Z';

let clock: FakeClock;
let runtime: FakeRuntime;
let pods: StatsPod[];
/** Container stats of the runtime. */
let reported: DeepPartial<ContainerStats>[];
let manifest: Pod | undefined;

beforeEach(() => {
  clock = new FakeClock(Date.parse(time));
  runtime = new FakeRuntime({ clock });
  runtime.injectError('imageFsInfo', new Error('not asked here'), { times: Infinity });
  pods = [pod()];
  reported = [];
  manifest = undefined;
});

const pod = (parts: Partial<StatsPod> = {}): StatsPod => ({
  ...{ uid: 'u1', name: 'web-edge1', namespace: 'default', startedAt: Date.parse(startTime), sandboxID: 'sandbox1' },
  ...{ hasNetwork: true, containers: [{ id: 'c1', name: 'main', startedAt: Date.parse(startTime) }] },
  ...parts,
});

/** A sampler of a machine with these files in cgroups, and its folder of cgroups. */
async function samplerOf(
  files: Readonly<Record<string, string>>,
  sourcesOf: (top: string) => CgroupSources,
  terminationLogs = '/missing',
) {
  const [top, procFolder] = [await describedTree(files), await describedTree(procFiles)];
  const filesystems = new Filesystems(clock);
  const logger = silentLogger;
  const sampler = new Sampler({
    host: { cgroups: sourcesOf(top), procFolder, runtimePID: () => 77 },
    nodeName: 'edge1',
    rootDir: '/missing',
    cgroupRoot: '/',
    podsCgroup: '/kubepods',
    pods: () => Promise.resolve(pods),
    podOf: () => manifest,
    runtimeStats: new RuntimeStats({
      runtime: {
        listContainerStats: async (...call) => {
          await runtime.listContainerStats(...call);
          return ListContainerStatsResponse.fromPartial({ stats: reported });
        },
        listPodSandboxStats: runtime.listPodSandboxStats,
      },
      imageService: runtime,
      clock,
      logger,
    }),
    filesystems,
    disk: new DiskUsageCache({
      ...{ volumeStatsAggPeriodMs: -1, podLogsDir: '/missing', podOf: () => undefined },
      ...{ volumesOf: () => [], hostsFileOf: () => '/missing', terminationLogsOf: () => terminationLogs },
      ...{ filesystems, clock, random: () => 0, logger },
    }),
    clock,
  });
  return { sampler, top, procFolder };
}

const sourcesV1 = (top: string): CgroupSources => ({
  cpu: { version: 1, top: join(top, 'cpuacct') },
  memory: { version: 1, top: join(top, 'memory') },
  pids: { version: 1, top: join(top, 'pids') },
});

const sourcesV2 = (top: string): CgroupSources => ({
  ...{ cpu: { version: 2, top }, memory: { version: 2, top }, pids: { version: 2, top }, pressure: top },
});

const podCgroup = '/kubepods/burstable/podu1';
const treeV1 = {
  ...cgroupV1('', { cpuNanos: 9_000_000_000, memoryKiB: 800, tasks: 99 }),
  ...cgroupV1('/kubepods', { cpuNanos: 7_000_000_000, memoryKiB: 400, limitKiB: 512 }),
  ...cgroupV1(podCgroup, { cpuNanos: 5_000_000_000, memoryKiB: 200, tasks: 12 }),
  ...cgroupV1(`${podCgroup}/c1`, { cpuNanos: 4_000_000_000, memoryKiB: 100, limitKiB: 128 }),
  ...cgroupV1(`${podCgroup}/sandbox1`),
  [`memory${podCgroup}/sandbox1/cgroup.procs`]: '4242\n',
};

// The root has no usage of its own.
const rootV2 = Object.fromEntries(
  Object.entries(cgroupV2('', { cpuMicros: 9_000_000, memoryKiB: 8 })).filter(
    ([path]) => path !== '/memory.current' && path !== '/memory.max',
  ),
);
const treeV2 = {
  ...rootV2,
  ...cgroupV2('/kubepods', { cpuMicros: 7_000_000, memoryKiB: 400, limitKiB: 512 }),
  ...cgroupV2(podCgroup, { cpuMicros: 5_000_000, memoryKiB: 200, tasks: 12 }),
  ...cgroupV2(`${podCgroup}/c1`, { cpuMicros: 4_000_000, memoryKiB: 100, limitKiB: 128 }),
  ...cgroupV2(`${podCgroup}/sandbox1`),
  [`${podCgroup}/sandbox1/cgroup.procs`]: '4242\n',
};

type Files = Readonly<Record<string, string>>;

/** The same machine with cgroups of each version, and what changes in its files. */
const versions: readonly {
  version: 1 | 2;
  tree: Files;
  sources: (top: string) => CgroupSources;
  cgroup: (path: string, memoryKiB: number) => Files;
  cpu: (path: string, micros: number) => Files;
  memory: (path: string, bytes: number) => Files;
  details: (path: string) => Files;
  /** A file that only details need. */
  detail: string;
  /** The cgroup of a process. */
  process: (path: string) => string;
}[] = [
  {
    version: 1,
    tree: treeV1,
    sources: sourcesV1,
    cgroup: (path, memoryKiB) => cgroupV1(path, { memoryKiB }),
    cpu: (path, micros) => ({ [`cpuacct${path}/cpuacct.usage`]: `${micros}000\n` }),
    memory: (path, bytes) => ({ [`memory${path}/memory.usage_in_bytes`]: `${bytes}\n` }),
    details: cgroupDetailsV1,
    detail: '/memory.max_usage_in_bytes',
    process: (path) => `4:memory:${path}\n3:cpuacct,cpu:${path}\n`,
  },
  {
    version: 2,
    tree: treeV2,
    sources: sourcesV2,
    cgroup: (path, memoryKiB) => cgroupV2(path, { memoryKiB }),
    cpu: (path, micros) => ({ [`${path}/cpu.stat`]: `usage_usec ${micros}\nuser_usec 1\nsystem_usec 1\n` }),
    memory: (path, bytes) => ({ [`${path}/memory.current`]: `${bytes}\n` }),
    details: cgroupDetailsV2,
    detail: '/memory.peak',
    process: (path) => `0::${path}\n`,
  },
];

async function writeAll(top: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) await writeAt(join(top, path), text);
}

/** Memory of a described cgroup. A quarter of it is inactive cache. */
const memoryOf = (kibibytes: number, rssBytes = 2048) => ({
  ...{ time, usageBytes: kibibytes * 1024, workingSetBytes: kibibytes * 768, rssBytes },
  ...{ pageFaults: 30, majorPageFaults: 2 },
});

const netStats = (rxBytes: number, txBytes: number, rxErrors = 0, txErrors = 0) => {
  const eth0 = { name: 'eth0', rxBytes, rxErrors, txBytes, txErrors };
  return { time, ...eth0, interfaces: [eth0] };
};

const machine = {
  startTime,
  swap: { time, swapAvailableBytes: 48 * 1024, swapUsageBytes: 16 * 1024 },
  rlimit: { time, maxpid: 32768, curproc: 321 },
  network: netStats(100, 200, 1, 2),
};

const madeAt = expect.stringMatching(/Z$/) as string;

describe.each(versions)('a machine with cgroup v$version', ({ tree, sources, ...files }) => {
  test('in all detail, a cgroup is read again once it has used CPU time, and its network each time', async () => {
    const { sampler, top, procFolder } = await samplerOf(tree, sources);
    const seen = async (): Promise<unknown> => {
      const [, , , sandbox] = await sampler.cgroups();
      return { memory: sandbox?.usage?.memory?.usageBytes, received: sandbox?.interfaces?.[0]?.rxBytes };
    };
    expect(await seen()).toEqual({ memory: 0, received: 10 });
    await writeAll(top, files.memory(`${podCgroup}/sandbox1`, 4096));
    await writeAt(join(procFolder, '4242/net/dev'), netDev(['eth0', 30, 0, 20, 0]));
    expect(await seen()).toEqual({ memory: 0, received: 30 });
    await writeAll(top, files.cpu(`${podCgroup}/sandbox1`, 1));
    expect(await seen()).toEqual({ memory: 4096, received: 30 });
  });

  test('the termination log of a container counts as its log, and as storage of its pod', async () => {
    const folder = await describedTree({ message: 'x'.repeat(100_000) });
    const { sampler } = await samplerOf(tree, sources, folder);
    const usage = async (): Promise<(number | undefined)[]> => {
      const [pod] = (await sampler.sample()).pods;
      return [pod?.containers[0]?.logs?.usedBytes, pod?.['ephemeral-storage']?.usedBytes];
    };
    let [log, storage] = await usage();
    while (log === undefined) [log, storage] = await usage();
    const { blocks } = await lstat(join(folder, 'message'));
    expect(log).toBe(blocks * 512);
    expect(storage).toBeGreaterThanOrEqual(log);
  });

  test('only a detailed sample reads the other files of cgroups', async () => {
    const { sampler, top } = await samplerOf({ ...tree, ...files.details(podCgroup) }, sources);
    const isOpen = (): boolean => openIn(top).some((path) => path.endsWith(files.detail));
    await sampler.sample();
    expect(isOpen()).toBe(false);
    await sampler.cgroups();
    expect(isOpen()).toBe(true);
  });

  test('computes the CPU usage of node, pods and containers from two samples', async () => {
    const { sampler, top } = await samplerOf(tree, sources);
    await sampler.sample();
    await clock.advance(10_000);
    for (const [cgroup, cpuMicros] of [
      ['', 9_500_000],
      ['/kubepods', 7_200_000],
      [podCgroup, 5_100_000],
      [`${podCgroup}/c1`, 4_050_000],
    ] as const)
      await writeAll(top, files.cpu(cgroup, cpuMicros));
    const { node, pods: measured } = await sampler.sample({ cpuAndMemoryOnly: true });
    expect(node.cpu?.usageNanoCores).toBe(50_000_000);
    expect(node.systemContainers?.map(({ cpu }) => cpu?.usageNanoCores)).toEqual([20_000_000]);
    expect(measured.map(({ cpu }) => cpu?.usageNanoCores)).toEqual([10_000_000]);
    expect(measured[0]?.containers.map(({ cpu }) => cpu?.usageNanoCores)).toEqual([5_000_000]);
  });

  test('reads CPU and memory alone, without asking the runtime', async () => {
    const { sampler } = await samplerOf(tree, sources);
    const { node, pods: measured } = await sampler.sample({ cpuAndMemoryOnly: true });
    expect(Object.keys(node)).toEqual(['nodeName', 'systemContainers', 'startTime', 'cpu', 'memory']);
    expect(measured.map((stats) => Object.keys(stats))).toEqual([
      ['podRef', 'startTime', 'containers', 'cpu', 'memory'],
    ]);
    expect(measured[0]?.containers.map((stats) => Object.keys(stats))).toEqual([
      ['name', 'startTime', 'cpu', 'memory'],
    ]);
    expect(runtime.calls).toEqual([]);
  });

  test('shows the agent and its runtime if they have cgroups of their own', async () => {
    const { sampler, procFolder } = await samplerOf({ ...tree, ...files.cgroup('/agent', 4) }, sources);
    await writeAt(join(procFolder, 'self/cgroup'), files.process('/agent'));
    await writeAt(join(procFolder, '77/cgroup'), files.process('/'));
    const { systemContainers } = (await sampler.sample()).node;
    expect(systemContainers?.map(({ name }) => name)).toEqual(['pods', 'kubelet']);
    expect(systemContainers?.[1]?.memory).toMatchObject(memoryOf(4));
  });

  test('asks for writable layers every minute, and at every sample if a pod has a limit on disk', async () => {
    const { sampler } = await samplerOf(tree, sources);
    const asksIn = async (samples: number): Promise<number> => {
      const before = runtime.requestsOf('listContainerStats').length;
      for (let sample = 0; sample < samples; sample += 1) {
        await sampler.sample();
        await clock.advance(10_000);
      }
      return runtime.requestsOf('listContainerStats').length - before;
    };
    expect(await asksIn(12)).toBe(2);
    manifest = makeStaticPod('web', {
      uid: 'u1',
      spec: { containers: [], volumes: [{ name: 'cache', emptyDir: { sizeLimit: '64Ki' } }] },
    });
    expect(await asksIn(12)).toBe(12);
  });

  test('reads the memory of an idle cgroup again after a minute, and at once for a sample that reads all anew', async () => {
    const { sampler, top } = await samplerOf(tree, sources);
    const bytesOf = async (anew: boolean): Promise<unknown> => {
      const [measured] = (await sampler.sample({ anew })).pods;
      return [measured?.memory?.usageBytes, measured?.containers[0]?.memory?.usageBytes];
    };
    const known = [200 * 1024, 100 * 1024];
    expect(await bytesOf(false)).toEqual(known);
    await writeAll(top, files.memory(podCgroup, 300 * 1024));
    await clock.advance(10_000);
    expect([await bytesOf(false), await bytesOf(true)]).toEqual([known, [300 * 1024, 100 * 1024]]);
    await clock.advance(10_000);
    expect(await bytesOf(false)).toEqual(known);
    await clock.advance(40_000);
    expect(await bytesOf(false)).toEqual([300 * 1024, 100 * 1024]);
    await writeAll(top, files.memory(`${podCgroup}/c1`, 50 * 1024));
    await writeAll(top, files.cpu(podCgroup, 5_000_001));
    await writeAll(top, files.cpu(`${podCgroup}/c1`, 4_000_001));
    await clock.advance(10_000);
    expect(await bytesOf(false)).toEqual([300 * 1024, 50 * 1024]);
  });

  test('reads the CPU time of containers only if their pod used some, and for a sample that reads all anew', async () => {
    const { sampler, top } = await samplerOf(tree, sources);
    const seen = async (anew: boolean): Promise<unknown> => {
      await clock.advance(10_000);
      const [cpu] = (await sampler.sample({ anew })).pods[0]?.containers.map((container) => container.cpu) ?? [];
      return [cpu?.usageCoreNanoSeconds, cpu?.usageNanoCores];
    };
    const use = (cgroup: string, micros: number): Promise<void> => writeAll(top, files.cpu(cgroup, micros));
    expect(await seen(false)).toEqual([4_000_000_000, undefined]);
    // No kernel counts this in the container alone.
    await use(`${podCgroup}/c1`, 4_000_010);
    expect(await seen(false)).toEqual([4_000_000_000, 0]);
    expect(await seen(true)).toEqual([4_000_010_000, 1000]);
    await use(`${podCgroup}/c1`, 4_000_020);
    await use(podCgroup, 5_000_020);
    expect(await seen(false)).toEqual([4_000_020_000, 1000]);
  });

  test('reads the network of an idle pod again after 15 s, and at once for a sample that reads all anew', async () => {
    const { sampler, top, procFolder } = await samplerOf(tree, sources);
    const network = async (anew: boolean): Promise<unknown> => {
      const [measured] = (await sampler.sample({ anew })).pods;
      return [measured?.network?.time, measured?.network?.rxBytes];
    };
    expect(await network(false)).toEqual(['2025-01-01T00:00:00.000Z', 10]);
    await writeAt(join(procFolder, '4242/net/dev'), netDev(['eth0', 30, 0, 20, 0]));
    await clock.advance(14_000);
    expect(await network(true)).toEqual(['2025-01-01T00:00:14.000Z', 30]);
    expect(await network(false)).toEqual(['2025-01-01T00:00:00.000Z', 10]);
    await clock.advance(1000);
    expect(await network(false)).toEqual(['2025-01-01T00:00:15.000Z', 30]);
    await writeAt(join(procFolder, '4242/net/dev'), netDev(['eth0', 50, 0, 20, 0]));
    await writeAll(top, files.cpu(podCgroup, 5_000_001));
    expect(await network(false)).toEqual(['2025-01-01T00:00:15.000Z', 50]);
  });

  test('asks for the usage of images every ten seconds, and for each sample that reads all anew', async () => {
    runtime = new FakeRuntime({ clock });
    const { sampler } = await samplerOf(tree, sources);
    const asksOf = async (...samples: boolean[]): Promise<number> => {
      for (const anew of samples) {
        await sampler.sample({ anew });
        await clock.advance(5000);
      }
      return runtime.requestsOf('imageFsInfo').length;
    };
    expect(await asksOf(false, false, false, false)).toBe(2);
    expect(await asksOf(true, true)).toBe(4);
  });

  test('names no network for a pod in the network of the node', async () => {
    const { sampler } = await samplerOf(tree, sources);
    pods = [pod({ hasNetwork: false })];
    expect((await sampler.sample()).pods[0]?.network).toBeUndefined();
  });

  test('finds the cgroup of a container that was made later, and of a pod of another class', async () => {
    const { sampler, top } = await samplerOf(tree, sources);
    await sampler.sample();
    await writeAll(top, files.cgroup(`${podCgroup}/c2`, 4));
    await writeAll(top, files.cgroup('/kubepods/podu2', 8));
    pods = [
      pod({ containers: [{ id: 'c2', name: 'main', startedAt: 0 }] }),
      pod({ uid: 'u2', sandboxID: 'sandbox2', containers: [] }),
    ];
    const { pods: measured } = await sampler.sample();
    expect(measured[0]?.containers[0]?.memory).toMatchObject(memoryOf(4));
    expect(measured[1]?.memory).toMatchObject(memoryOf(8));
  });
});

describe('a machine with cgroup v1', () => {
  test('has the usage of its cgroups, in the shape of the kubelet', async () => {
    const { sampler } = await samplerOf(treeV1, sourcesV1);
    expect(await sampler.sample()).toEqual({
      node: {
        nodeName: 'edge1',
        ...machine,
        cpu: { time, usageCoreNanoSeconds: 9_000_000_000 },
        memory: { ...memoryOf(800), availableBytes: 1024 * 1024 - 800 * 768 },
        systemContainers: [
          {
            name: 'pods',
            startTime: madeAt,
            cpu: { time, usageCoreNanoSeconds: 7_000_000_000 },
            memory: { ...memoryOf(400), availableBytes: 512 * 1024 - 400 * 768 },
            swap: { time, swapUsageBytes: 512 },
          },
        ],
      },
      pods: [
        {
          podRef: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
          startTime,
          cpu: { time, usageCoreNanoSeconds: 5_000_000_000 },
          memory: memoryOf(200),
          network: netStats(10, 20),
          process_stats: { process_count: 12 },
          swap: { time, swapUsageBytes: 512 },
          containers: [
            {
              name: 'main',
              startTime,
              cpu: { time, usageCoreNanoSeconds: 4_000_000_000 },
              memory: { ...memoryOf(100), availableBytes: 128 * 1024 - 100 * 768 },
              swap: { time, swapAvailableBytes: 48 * 1024, swapUsageBytes: 512 },
            },
          ],
        },
      ],
    });
  });
});

describe('a machine with cgroup v2 and systemd', () => {
  const podV2 = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu1.slice';
  const treeV2 = {
    ...rootV2,
    ...cgroupV2('/kubepods', { cpuMicros: 7_000_000, memoryKiB: 400, limitKiB: 512 }),
    ...cgroupV2(podV2, { cpuMicros: 5_000_000, memoryKiB: 200, tasks: 12 }),
    ...cgroupV2(`${podV2}/cri-containerd-c1.scope`, { cpuMicros: 4_000_000, memoryKiB: 100, limitKiB: 128 }),
    ...cgroupV2(`${podV2}/cri-containerd-sandbox1.scope`),
    [`${podV2}/cri-containerd-sandbox1.scope/cgroup.procs`]: '4242\n',
  };
  const psi = {
    some: { total: 77, avg10: 1.5, avg60: 0.5, avg300: 0 },
    full: { total: 7, avg10: 0.25, avg60: 0, avg300: 0 },
  };

  test('has the usage of its cgroups, systemd or not, and their pressure', async () => {
    const { sampler } = await samplerOf(treeV2, sourcesV2);
    expect(await sampler.sample()).toEqual({
      node: {
        nodeName: 'edge1',
        ...machine,
        cpu: { time, usageCoreNanoSeconds: 9_000_000_000, psi },
        // Anonymous memory and the cache of files.
        memory: {
          ...{ time, usageBytes: 6144, workingSetBytes: 4096, availableBytes: 1024 * 1024 - 4096, rssBytes: 2048 },
          ...{ pageFaults: 30, majorPageFaults: 2, psi },
        },
        io: { time, psi },
        systemContainers: [
          {
            name: 'pods',
            startTime: madeAt,
            cpu: { time, usageCoreNanoSeconds: 7_000_000_000, psi },
            memory: { ...memoryOf(400), availableBytes: 512 * 1024 - 400 * 768, psi },
            swap: { time, swapUsageBytes: 512 },
            io: { time, psi },
          },
        ],
      },
      pods: [
        {
          podRef: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
          startTime,
          cpu: { time, usageCoreNanoSeconds: 5_000_000_000, psi },
          memory: { ...memoryOf(200), psi },
          network: netStats(10, 20),
          process_stats: { process_count: 12 },
          swap: { time, swapUsageBytes: 512 },
          io: { time, psi },
          containers: [
            {
              name: 'main',
              startTime,
              cpu: { time, usageCoreNanoSeconds: 4_000_000_000, psi },
              memory: { ...memoryOf(100), availableBytes: 128 * 1024 - 100 * 768, psi },
              swap: { time, swapAvailableBytes: 48 * 1024, swapUsageBytes: 512 },
              io: { time, psi },
            },
          ],
        },
      ],
    });
  });
});

test('a hybrid machine counts each resource where its controller is', async () => {
  const { sampler } = await samplerOf(
    {
      ...treeV1,
      ...cgroupV2(`unified${podCgroup}`, { memoryKiB: 4, tasks: 2 }),
      ...cgroupV2(`unified${podCgroup}/c1`),
    },
    (top) => ({
      cpu: { version: 1, top: join(top, 'cpuacct') },
      memory: { version: 2, top: join(top, 'unified') },
      pids: { version: 2, top: join(top, 'unified') },
    }),
  );
  const { pods: measured } = await sampler.sample();
  expect(measured[0]?.cpu?.usageCoreNanoSeconds).toBe(5_000_000_000);
  expect(measured[0]?.memory).toEqual(memoryOf(4));
  expect(measured[0]?.process_stats).toEqual({ process_count: 2 });
});

describe('a pod without a cgroup, as in a virtual machine', () => {
  const nanos = BigInt(Date.parse(time)) * 1_000_000n;

  /** Stats of container `c1` that the runtime reports. */
  function reportContainer(atMs: number, cpuNanos: bigint): void {
    const timestamp = nanos + BigInt(atMs) * 1_000_000n;
    reported = [
      {
        attributes: { id: 'c1' },
        cpu: { timestamp, usageCoreNanoSeconds: { value: cpuNanos } },
        memory: { timestamp, workingSetBytes: { value: 10n } },
        writableLayer: {
          timestamp,
          fsId: { mountpoint: '/missing' },
          usedBytes: { value: 30n },
          inodesUsed: { value: 3n },
        },
      },
    ];
  }

  test('has the usage that the runtime reports, of its containers together', async () => {
    const { sampler } = await samplerOf({}, () => ({}));
    reportContainer(0, 1_000_000n);
    await sampler.sample();
    await clock.advance(10_000);
    // The runtime measured only half way.
    reportContainer(5000, 6_000_000n);
    const { pods: measured } = await sampler.sample();
    const later = '2025-01-01T00:00:05.000Z';
    const usage = {
      cpu: { time: later, usageNanoCores: 1_000_000, usageCoreNanoSeconds: 6_000_000 },
      memory: { time: later, workingSetBytes: 10 },
    };
    expect(measured).toEqual([
      {
        podRef: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
        startTime,
        ...usage,
        'ephemeral-storage': { time: later, usedBytes: 30, inodesUsed: 3 },
        containers: [{ name: 'main', startTime, ...usage, rootfs: { time: later, usedBytes: 30, inodesUsed: 3 } }],
      },
    ]);
  });

  test('has no figures if the runtime has none', async () => {
    const { sampler } = await samplerOf({}, () => ({}));
    expect((await sampler.sample()).pods).toEqual([
      {
        podRef: { name: 'web-edge1', namespace: 'default', uid: 'u1' },
        startTime,
        containers: [{ name: 'main', startTime }],
      },
    ]);
  });
});
