import { getEventListeners } from 'node:events';
import { appendFile, lstat, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { parseEvictionThresholds } from '../../src/api/values/eviction-thresholds.ts';
import type { Kubelet } from '../../src/engine/kubelet.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { mountSmallDisk } from '../support/full-disk.ts';
import { type Engine, World } from './world.ts';

/** Rounds of churn. Time passes finely in a round, and in leaps until the next one. */
const roundsADay = 3;
const leapMs = 3_600_000;
const guestsARound = 4;
const mebibyte = 1024 * 1024;
const critical = 2_000_001_000;

interface Figures {
  timers: number;
  handles: Record<string, number>;
  /** Sizes of maps, sets, arrays and listener lists that the engine reaches, by path. */
  sizes: Record<string, number>;
  diskBytes: number;
  files: number;
}

test('a week of churn, pressure and rotation leaves memory, handles, timers and the disk as they were', async () => {
  const world = await World.make();
  await mountSmallDisk(world.folder, 32 * 1024);
  const source = new ManualSource();
  const { engine, setShort } = await boot(world, source);
  const figures: Figures[] = [];
  for (let round = 0; round < 7 * roundsADay; round++) {
    await churn(world, engine, source, round, setShort);
    for (let ms = 0; ms < 86_400_000 / roundsADay; ms += leapMs) await world.leap(leapMs);
    await world.pass(5000);
    if (round === 4 * roundsADay - 1 || round === 7 * roundsADay - 1) figures.push(await measure(world, engine));
  }
  expect(engine.messages('FailedCreatePodSandBox')).toEqual([]);
  const happened = ['Evicted', 'ImageRemoved', 'OOMKilling', 'UpdatedInPlace', 'DeadContainersRemoved'];
  expect(happened.map((reason) => engine.messages(reason).length).every((count) => count > roundsADay)).toBe(true);
  expect(world.runtime.requestsOf('reopenContainerLog').length).toBeGreaterThan(7 * roundsADay);

  const [early, late] = figures;
  if (early === undefined || late === undefined) throw new Error('nothing was measured');
  expect({ ...late, diskBytes: 0, sizes: {} }).toEqual({ ...early, diskBytes: 0, sizes: {} });
  expect(Math.abs(late.diskBytes - early.diskBytes)).toBeLessThan(4096);
  const grown = Object.entries(late.sizes).filter(([path, size]) => size > (early.sizes[path] ?? 0));
  // All of them are bounded, and not full after a week.
  expect(grown.map(([path]) => path.split('.').slice(-2).join('.')).sort()).toEqual([
    // In each of oomWatcher.reported.
    '*.kills',
    '*.reportedBy',
    'garbage.removed',
    'history.ends',
    'history.events',
    'oomWatcher.reported',
  ]);
  expect(grown.every(([, size]) => size < 1000)).toBe(true);
});

async function boot(
  world: World,
  source: ManualSource,
): Promise<{ engine: Engine; setShort: (isShort: boolean) => void }> {
  const none = {
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
  };
  const evictionHard = { 'nodefs.available': '10%', 'memory.available': '100Mi' };
  let availableBytes = 900n;
  const engine = await world.boot({
    sources: [source],
    readFilesystem: () => Promise.resolve({ capacityBytes: 1000n, availableBytes }),
    node: makeNodeConfig(world.folder, {
      eviction: {
        thresholds: parseEvictionThresholds({ ...none, evictionHard }) ?? [],
        pressureTransitionMs: 60_000,
        maxPodGracePeriodSeconds: 0,
        policy: 'byPriority',
      },
      containerLogs: { maxSizeBytes: 1000n, maxFiles: 3, maxWorkers: 1, monitorIntervalMs: 10_000 },
    }),
  });
  const setShort = (isShort: boolean): void => {
    availableBytes = isShort ? 100n : 900n;
    world.stats.amounts.diskAvailable = (isShort ? 50 : 512) * mebibyte;
  };
  return { engine, setShort };
}

const stable = (round: number): Pod[] => [
  makeStaticPod('calm', { spec: { priority: critical } }),
  makeStaticPod('edited', {
    spec: {
      priority: critical,
      containers: [
        { name: 'main', image: `edited:${round % 3}`, resources: { limits: { memory: `${64 + (round % 5)}Mi` } } },
      ],
    },
  }),
  makeStaticPod('replaced', {
    spec: { containers: [{ name: 'main', image: 'app:1', env: [{ name: 'ROUND', value: String(round % 7) }] }] },
  }),
];

/** One round: pods come, change, crash and go; pressure comes and goes; logs grow. */
async function churn(
  world: World,
  engine: Engine,
  source: ManualSource,
  round: number,
  setShort: (isShort: boolean) => void,
): Promise<void> {
  const { runtime } = world;
  for (const image of ['app:1', 'edited:0', 'edited:1', 'edited:2', `unused:${round}`, 'registry.example/app:1']) {
    runtime.addImage(image);
  }
  const guests = Array.from({ length: guestsARound }, (_, index) =>
    makeStaticPod(`guest-${index}`, {
      uid: `guest-${index}-${round}`,
      spec: { restartPolicy: index % 2 === 0 ? 'Always' : 'Never' },
    }),
  );
  source.setDerived(...stable(round), ...guests);
  await world.until(() => guests.every(({ metadata }) => engine.phase(metadata.name) === 'Running'));
  await world.until(() => stable(round).every(({ metadata }) => engine.isReady(metadata.name)));
  for (const [index, { metadata }] of guests.entries()) {
    if (index % 3 === 0) runtime.exitContainer({ pod: metadata.name, container: 'main' }, 137, { oom: index === 0 });
  }
  runtime.exitContainer({ pod: 'calm-edge1', container: 'main' }, 1);
  await growLogs(world);
  await world.pass(11_000);
  if (round % roundsADay === 1) {
    setShort(true);
    await world.pass(21_000);
    setShort(false);
  }
  source.setDerived(...stable(round));
  await world.until(() => engine.kubelet.snapshot().pods.length === stable(round).length);
}

/** Every running container writes more than one file may hold. */
async function growLogs(world: World): Promise<void> {
  for (const { id, state } of (await world.runtime.listContainers()).containers) {
    if (state !== 'CONTAINER_RUNNING') continue;
    const { status } = await world.runtime.containerStatus({ containerId: id });
    const path = status?.logPath ?? '';
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, 'a line of a log\n'.repeat(80));
  }
}

async function measure(world: World, { kubelet }: Engine): Promise<Figures> {
  const sizesOfFiles = await fileSizes(world.folder);
  return {
    timers: world.clock.pending,
    handles: countsOf(
      process.getActiveResourcesInfo().filter((name) => !/Immediate|Timeout|FSReq|CloseReq/.test(name)),
    ),
    sizes: sizesWithin(kubelet, [world.runtime, world.clock, world.stats]),
    diskBytes: sizesOfFiles.reduce((sum, size) => sum + size, 0),
    files: sizesOfFiles.length,
  };
}

async function fileSizes(folder: string): Promise<number[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  // Each history may have 64 KiB, and is not full after two days.
  const others = entries.filter(({ parentPath }) => !parentPath.endsWith('/state/history'));
  return Promise.all(others.map(async ({ parentPath, name }) => (await lstat(join(parentPath, name))).size));
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Sums the sizes of collections by the path to them, in which `*` stands for an entry of one. */
function sizesWithin(root: Kubelet, borders: readonly object[]): Record<string, number> {
  const sizes: Record<string, number> = {};
  const seen = new Set<object>([...borders]);
  const queue: { value: unknown; path: string }[] = [{ value: root, path: 'kubelet' }];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    const add = (size: number): void => {
      sizes[path] = (sizes[path] ?? 0) + size;
    };
    if (value instanceof AbortSignal) add(getEventListeners(value, 'abort').length);
    const isCollection = value instanceof Map || value instanceof Set || Array.isArray(value);
    const children: unknown[] =
      value instanceof Map ? [...value.entries()].flat() : value instanceof Set ? [...value] : [];
    if (isCollection) {
      const items = Array.isArray(value) ? (value as unknown[]) : children;
      add(value instanceof Map ? value.size : items.length);
      for (const item of items) queue.push({ value: item, path: `${path}.*` });
    } else {
      for (const [key, child] of Object.entries(value)) queue.push({ value: child, path: `${path}.${key}` });
    }
  }
  return sizes;
}
