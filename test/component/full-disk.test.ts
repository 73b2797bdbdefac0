import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { parseEvictionThresholds } from '../../src/api/values/eviction-thresholds.ts';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../src/api/values/quantity.ts';
import { DiskStateFile } from '../../src/engine/container-manager/checkpoint/disk-state-file.ts';
import { CPUSet } from '../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import { PodResources } from '../../src/engine/container-manager/resource-managers/pod-resources.ts';
import { decodeRevision } from '../../src/engine/in-place/revision-file.ts';
import type { NodeConfig } from '../../src/engine/config/node-config.ts';
import type { Logger } from '../../src/logger.ts';
import { makeConfigMap } from '../builders/config-objects.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { fillDisk, mountSmallDisk } from '../support/full-disk.ts';
import { type Engine, World } from './world.ts';

const image = 'registry.example/app:1';
const gibibyte = 1024n ** 3n;
const machine = {
  nodes: [{ id: 0, cores: [0, 1, 2, 3].map((core) => ({ socket: 0, threads: [core] })), distances: [10] }],
};

/** A root-dir on a file system of 512 KiB. */
async function smallWorld(): Promise<World> {
  const world = await World.make();
  for (const name of [image, 'app:2']) world.runtime.addImage(name);
  await mkdir(world.rootDir);
  await mountSmallDisk(world.rootDir, 512);
  return world;
}

const noEviction: NodeConfig['eviction'] = {
  thresholds: [],
  pressureTransitionMs: 60_000,
  maxPodGracePeriodSeconds: 0,
  policy: 'byPriority',
};

async function boot(world: World, source: ManualSource, logger: Logger, eviction = noEviction): Promise<Engine> {
  const { clock, rootDir } = world;
  const open = (name: string): Promise<DiskStateFile> =>
    DiskStateFile.open({ path: join(rootDir, name), clock, logger });
  const files = { cpu: await open('cpu_manager_state'), memory: await open('memory_manager_state') };
  const settings = {
    topology: { policy: 'none', scope: 'container', options: {} },
    cpu: { policy: 'static', options: {}, reserved: toQuantity('1'), reservedCPUs: CPUSet.parse('0') },
    memory: {
      policy: 'Static',
      nodeReservation: { memory: '1Gi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    },
  };
  return world.boot({
    sources: [source],
    logger,
    node: makeNodeConfig(world.folder, { allocatable: { cpu: '3', memory: '3Gi', pods: '110' }, eviction }),
    podResources: (engine) =>
      new PodResources(
        {
          settings,
          machine,
          memory: [{ id: 0, bytes: 4n * gibibyte, hugePages: [] }],
          featureGates: defaultFeatureGates,
          files,
          reconcilePeriodMs: 10_000,
          clock,
          logger,
        },
        engine,
      ),
  });
}

/** Warnings and errors as `message of path or pod`. */
function warningsTo(lines: string[]): Logger {
  const nothing = (): void => undefined;
  const keep = (facts: object, message: string): void => {
    const { path, folder, podUID, err } = facts as Record<string, unknown>;
    lines.push(`${message}: ${String(path ?? folder ?? podUID)}: ${String(err)}`);
  };
  const logger = { debug: nothing, info: nothing, warn: keep, error: keep, child: () => logger } as unknown as Logger;
  return logger;
}

/** Files below the root-dir that the next agent reads, by path. */
async function stateFiles(world: World): Promise<Record<string, string>> {
  const entries = await readdir(world.rootDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== 'ballast');
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  const texts = paths.map(
    async (path) => [path.slice(world.rootDir.length + 1), await readFile(path, 'utf8')] as const,
  );
  return Object.fromEntries(await Promise.all(texts));
}

/** Paths of files that are not whole. */
const broken = (files: Record<string, string>): string[] =>
  Object.entries(files).flatMap(([path, text]) => (isWhole(path, text) ? [] : [`${path} ${text}`]));

function isWhole(path: string, text: string): boolean {
  const name = basename(path);
  if (name.endsWith('.tmp')) return false;
  // A termination message, and the mark of a finished mount.
  if (path.includes('/containers/') || name === 'ready') return true;
  if (path.includes('/volumes/')) return ['one', 'two'].includes(text);
  // Empty: no container of the pod was started.
  if (name === 'etc-hosts') return text === '' || /\t[a-z]+-edge1\n$/.test(text);
  if (name === 'revision.json') return decodeRevision(Buffer.from(text)) !== undefined;
  if (!path.includes('.jsonl')) return isJSON(text);
  return text === '' || (text.endsWith('\n') && text.trimEnd().split('\n').every(isJSON));
}

function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const web = (memory = '64Mi'): Pod =>
  makeStaticPod('web', {
    spec: {
      containers: [
        {
          name: 'main',
          image,
          resources: { limits: { memory } },
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', configMap: { name: 'data' } }],
    },
  });
const probed = makeStaticPod('probed', {
  spec: { containers: [{ name: 'main', image, readinessProbe: { periodSeconds: 1, exec: { command: ['ready'] } } }] },
});
const pinned = makeStaticPod('pinned', {
  spec: {
    containers: [
      {
        name: 'main',
        image,
        resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
      },
    ],
  },
});

/** The UID of each pod that has a folder, by name. */
const uids = { web: web().metadata.uid, probed: probed.metadata.uid, pinned: pinned.metadata.uid };

/** Files that the agent keeps about pods and its managers. */
const kept = (files: Record<string, string>, name: string): string => files[name] ?? 'none';
const statusOf = (files: Record<string, string>, pod: keyof typeof uids): string =>
  kept(files, `pods/${uids[pod]}/status.json`);
const revisionOf = (files: Record<string, string>, pod: keyof typeof uids): string =>
  kept(files, `pods/${uids[pod]}/revision.json`);
const isMarkedReady = (text: string): boolean => text.includes('"type":"Ready","status":"True"');

test('a full disk stops no pod, leaves no half of a file, and is made up for when there is space', async () => {
  const world = await smallWorld();
  const lines: string[] = [];
  const source = new ManualSource();
  source.setConfigObjects(makeConfigMap('data', { text: 'one' }));
  const engine = await boot(world, source, warningsTo(lines));
  source.setDerived(web(), probed);
  await world.until(() => engine.isReady('web-edge1') && engine.isReady('probed-edge1'));
  await world.pass(35_000);
  expect(broken(await stateFiles(world))).toEqual([]);
  expect(isMarkedReady(statusOf(await stateFiles(world), 'probed'))).toBe(true);
  expect(lines).toEqual([]);

  const ballast = await fillDisk(world.rootDir);
  source.setConfigObjects(makeConfigMap('data', { text: 'two' }));
  source.setDerived(web('128Mi'), probed, pinned);
  world.runtime.scriptExec(() => ({ exitCode: 1 }));
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  world.clock.setWallClock(world.clock.now() + 86_400_000);
  await world.until(() => world.runtime.running().includes('web-edge1/main#1') && !engine.isReady('probed-edge1'));
  await world.pass(180_000);
  // A pod that was not there before waits for space.
  expect(world.runtime.running()).toEqual(['probed-edge1/main#0', 'web-edge1/main#1']);
  expect(broken(await stateFiles(world))).toEqual([]);
  expect(lines.map((line) => line.replace(/: .*/, '')).sort()).toEqual([
    'Writing the clock settings failed; retrying',
    'Writing the history of pods failed',
    'Writing the kept status of a pod failed; retrying',
    'Writing the revision of a pod failed, a change while no agent runs may replace the pod',
    'Writing the revisions of pods failed, history and rollback may miss them after a restart',
    'Writing the state file failed',
    'Writing the state file failed',
  ]);

  await rm(ballast);
  await world.until(() => engine.isReady('pinned-edge1'));
  await world.pass(90_000);
  const after = await stateFiles(world);
  expect(broken(after)).toEqual([]);
  expect(isMarkedReady(statusOf(after, 'probed'))).toBe(false);
  expect(isMarkedReady(statusOf(after, 'pinned'))).toBe(true);
  expect(revisionOf(after, 'web')).toContain('128Mi');
  expect(revisionOf(after, 'pinned')).toContain('1Gi');
  expect(kept(after, 'cpu_manager_state')).toContain(uids.pinned);
  expect(kept(after, 'memory_manager_state')).toContain(uids.pinned);
  expect(kept(after, 'state/history/default_web-edge1.jsonl')).toContain('"restartCount":0');
  expect((JSON.parse(kept(after, 'state/clock.json')) as { settings: unknown[] }).settings).toHaveLength(2);
});

test('an agent that is killed and starts on a full disk continues with the pods as they are', async () => {
  const world = await smallWorld();
  const source = new ManualSource();
  source.setConfigObjects(makeConfigMap('data', { text: 'one' }));
  const engine = await boot(world, source, warningsTo([]));
  source.setDerived(web(), probed, pinned);
  await world.until(() => ['web', 'probed', 'pinned'].every((name) => engine.isReady(`${name}-edge1`)));
  await world.pass(5000);
  await fillDisk(world.rootDir);
  source.setDerived(web('128Mi'), probed, pinned);
  await world.pass(5000);
  engine.crash();

  const lines: string[] = [];
  const next = new ManualSource();
  next.setConfigObjects(makeConfigMap('data', { text: 'one' }));
  const again = await boot(world, next, warningsTo(lines));
  next.setDerived(web('128Mi'), probed, pinned);
  await world.until(() => ['web', 'probed', 'pinned'].every((name) => again.isReady(`${name}-edge1`)));
  await world.pass(60_000);
  expect(world.runtime.running()).toEqual(['pinned-edge1/main#0', 'probed-edge1/main#0', 'web-edge1/main#0']);
  expect(world.runtime.requestsOf('runPodSandbox')).toHaveLength(3);
  expect(broken(await stateFiles(world))).toEqual([]);
  expect(lines.filter((line) => !line.startsWith('Writing '))).toEqual([]);
});

test('a pod that fills the disk is evicted, the others run on, and it comes back', async () => {
  const world = await smallWorld();
  const lines: string[] = [];
  const source = new ManualSource();
  const none = {
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
  };
  const thresholds = parseEvictionThresholds({ ...none, evictionHard: { 'nodefs.available': '10%' } }) ?? [];
  const engine = await boot(world, source, warningsTo(lines), { ...noEviction, thresholds });
  const hog = makeStaticPod('hog', {
    uid: 'hog',
    spec: {
      containers: [{ name: 'main', image, volumeMounts: [{ name: 'cache', mountPath: '/cache' }] }],
      volumes: [{ name: 'cache', emptyDir: {} }],
    },
  });
  const calm = makeStaticPod('calm', { spec: { priority: 2_000_001_000 } });
  source.set(hog, calm);
  await world.until(() => engine.isReady('hog-edge1') && engine.isReady('calm-edge1'));
  await fillDisk(join(world.rootDir, 'pods/hog/volumes/kubernetes.io~empty-dir/cache'));
  world.stats.amounts.diskAvailable = 0;
  await world.until(() => engine.pod('hog-edge1')?.worker.state === 'finished');
  expect(engine.pod('hog-edge1')?.pod.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  expect(world.runtime.running()).toEqual(['calm-edge1/main#0']);
  world.stats.amounts.diskAvailable = 512 * 1024 * 1024;
  await world.until(() => engine.isReady('hog-edge1') && engine.phase('hog-edge1') === 'Running');
  await world.pass(60_000);
  const files = await stateFiles(world);
  expect(broken(files)).toEqual([]);
  expect(kept(files, 'state/history/default_hog-edge1.jsonl')).toContain('Evicted');
  expect(lines).toEqual([...new Set(lines)]);
});
