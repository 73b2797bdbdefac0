import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { type EvictionSettings, parseEvictionThresholds } from '../../src/api/values/eviction-thresholds.ts';
import type { EvictionPolicy } from '../../src/api/values/eviction-policy.ts';
import type { PodStats } from '../../src/engine/stats/summary.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import type { FakeAmounts } from '../fakes/fake-stats.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { type Engine, World } from './world.ts';

const mebibyte = 1024 * 1024;
const critical = 2_000_001_000;

interface Node {
  world: World;
  engine: Engine;
  source: ManualSource;
  /** Log lines about the checks of the node. */
  said: string[];
}

type Settings = Partial<EvictionSettings> & {
  policy?: EvictionPolicy;
  transitionMs?: number;
  maxPodGracePeriodSeconds?: number;
  kernelMemcgNotification?: boolean;
};

const memoryBelow100Mi = { evictionHard: { 'memory.available': '100Mi' } };

async function boot(world: World, source: ManualSource, settings: Settings): Promise<Omit<Node, 'world' | 'source'>> {
  const { policy = 'byPriority', transitionMs = 60_000, maxPodGracePeriodSeconds = 0, ...others } = settings;
  const { kernelMemcgNotification = false, ...given } = others;
  const none = { evictionHard: {}, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} };
  const thresholds = parseEvictionThresholds({ ...none, enforceNodeAllocatable: [], ...given }) ?? [];
  const said: string[] = [];
  const log = (facts: unknown, message = String(facts)): void => {
    said.push(message);
  };
  const allocatable = { cpu: '2', memory: '1Gi', pods: '110', 'ephemeral-storage': '1Gi' };
  const eviction = { thresholds, pressureTransitionMs: transitionMs, maxPodGracePeriodSeconds, policy };
  const engine = await world.boot({
    sources: [source],
    node: makeNodeConfig(world.folder, { eviction, allocatable, kernelMemcgNotification }),
    logger: {
      ...silentLogger,
      child: ({ component }) =>
        component === 'eviction' ? { ...silentLogger, info: log, warn: log, child: () => silentLogger } : silentLogger,
    },
  });
  return { engine, said };
}

async function node(settings: Settings, ...pods: Pod[]): Promise<Node> {
  return nodeOn(await World.make(), settings, ...pods);
}

async function nodeOn(world: World, settings: Settings, ...pods: Pod[]): Promise<Node> {
  const source = new ManualSource();
  const booted = await boot(world, source, settings);
  source.set(...pods);
  await world.until(() => pods.every(({ metadata }) => booted.engine.isReady(metadata.name)));
  return { world, source, ...booted };
}

function pod(name: string, spec: Partial<RawPod['spec']> = {}): Pod {
  return makeStaticPod(name, { uid: name, spec: { terminationGracePeriodSeconds: 30, ...spec } });
}

/** Sets the usage of a pod, and of its container. */
function uses(world: World, uid: string, mebibytes: number, usage: Partial<PodStats> = {}): void {
  const { time } = world.stats;
  const memory = { time, workingSetBytes: mebibytes * mebibyte };
  world.stats.pods.set(uid, { memory, containers: [{ name: 'main', startTime: time, memory }], ...usage });
}

/** Changes the amounts as soon as this many pods have been evicted. */
function afterEvictions({ world, engine }: Node, count: number, amounts: Partial<FakeAmounts>): void {
  engine.kubelet.subscribe((event) => {
    if (event.type !== 'Recorded' || event.reason !== 'Evicted') return;
    if (engine.messages('Evicted').length >= count) Object.assign(world.stats.amounts, amounts);
  });
}

const running = ({ world }: Node): string[] => world.runtime.running().toSorted();
const pressures = ({ engine }: Node): string[] => engine.kubelet.snapshot().pressures.map(({ type }) => type);
const nodeEvents = ({ engine }: Node): string[] =>
  engine.events.events.flatMap((event) =>
    event.type === 'Recorded' && event.pod === undefined ? [`${event.reason}: ${event.message}`] : [],
  );

describe('a node that runs short of memory', () => {
  /** Three pods: a critical one that uses most, and two others. */
  async function short(settings: Settings = memoryBelow100Mi): Promise<Node> {
    const made = await node(settings, pod('critical', { priority: critical }), pod('large'), pod('small'));
    uses(made.world, 'critical', 500);
    uses(made.world, 'large', 200);
    uses(made.world, 'small', 20);
    made.world.stats.amounts.memoryAvailable = 60 * mebibyte;
    return made;
  }

  test('evicts the pod that uses most above its requests, but for critical ones, until enough is free', async () => {
    const made = await short();
    const { world, engine } = made;
    afterEvictions(made, 1, { memoryAvailable: 300 * mebibyte });
    await world.until(() => engine.messages('Evicted').length > 0);
    await world.pass(15_000);
    const message =
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. ' +
      'Container main was using 200Mi, request is 0, has larger consumption of memory. ';
    expect(engine.messages('Evicted')).toEqual([message]);
    const { status } = engine.pod('large-edge1')?.pod ?? {};
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    expect(status?.conditions?.filter(({ type }) => type === 'DisruptionTarget')).toMatchObject([
      { status: 'True', reason: 'TerminationByKubelet', message },
    ]);
    expect(running(made)).toEqual(['critical-edge1/main#0', 'small-edge1/main#0']);
    // Of a grace period of one second, containers have the least that the kubelet leaves them.
    expect(world.runtime.requestsOf('stopContainer').map(({ timeout }) => timeout)).toEqual([2n]);
    expect(engine.kubelet.snapshot().pressures).toMatchObject([
      { type: 'MemoryPressure', message: 'memory.available is 60Mi, threshold 100Mi' },
    ]);
  });

  test('the pod comes back with its UID, 10 s after the pressure ended', async () => {
    const made = await short();
    const { world, engine } = made;
    afterEvictions(made, 1, { memoryAvailable: 300 * mebibyte });
    await world.until(() => engine.messages('Evicted').length > 0);
    await world.until(() => pressures(made).length === 0);
    const endedAt = world.clock.monotonic();
    expect(running(made)).toEqual(['critical-edge1/main#0', 'small-edge1/main#0']);
    await world.until(() => running(made).length === 3);
    const waitedMs = world.clock.monotonic() - endedAt;
    expect(waitedMs).toBeGreaterThanOrEqual(10_000);
    expect(waitedMs).toBeLessThan(13_000);
    await world.until(() => engine.isReady('large-edge1'));
    expect(engine.pod('large-edge1')?.pod).toMatchObject({ metadata: { uid: 'large' }, status: { phase: 'Running' } });
    expect(nodeEvents(made)).toEqual([
      'NodeHasInsufficientMemory: Node edge1 status is now: NodeHasInsufficientMemory',
      'EvictionThresholdMet: Attempting to reclaim memory',
      'NodeHasSufficientMemory: Node edge1 status is now: NodeHasSufficientMemory',
    ]);
  });

  test('a pod that is evicted again waits twice as long', async () => {
    const made = await short({ ...memoryBelow100Mi, transitionMs: 1000 });
    const { world, engine } = made;
    const waits: number[] = [];
    afterEvictions(made, 1, { memoryAvailable: 300 * mebibyte });
    for (let time = 1; time <= 3; time++) {
      world.stats.amounts.memoryAvailable = 60 * mebibyte;
      await world.until(() => engine.messages('Evicted').length === time);
      await world.until(() => pressures(made).length === 0);
      const endedAt = world.clock.monotonic();
      await world.until(() => running(made).length === 3);
      waits.push(Math.round((world.clock.monotonic() - endedAt) / 10_000));
    }
    expect(waits).toEqual([1, 2, 4]);
  });

  test('after a long pressure the wait is as long as after a short one, and doubles', async () => {
    const made = await node({ ...memoryBelow100Mi, transitionMs: 1000 }, pod('large'));
    const { world, engine } = made;
    const waits: number[] = [];
    for (let time = 1; time <= 3; time++) {
      world.stats.amounts.memoryAvailable = 60 * mebibyte;
      await world.until(() => engine.messages('Evicted').length === time);
      for (const minutes of [6, 6]) await world.pass(minutes * 60_000);
      world.stats.amounts.memoryAvailable = 300 * mebibyte;
      await world.until(() => pressures(made).length === 0);
      const endedAt = world.clock.monotonic();
      await world.until(() => running(made).length === 1);
      waits.push(Math.round((world.clock.monotonic() - endedAt) / 10_000));
    }
    expect(waits).toEqual([1, 2, 4]);
  });

  test('the wait of a pod that found no room for long doubles all the same', async () => {
    const resources = { requests: { memory: '600Mi' } };
    const containers = [{ name: 'main', image: 'registry.example/app:1', resources }];
    const large = pod('large', { containers });
    const made = await node({ ...memoryBelow100Mi, transitionMs: 1000 }, large);
    const { world, engine, source } = made;
    uses(world, 'large', 700);
    const waits: number[] = [];
    for (const time of [1, 2]) {
      world.stats.amounts.memoryAvailable = 60 * mebibyte;
      await world.until(() => engine.messages('Evicted').length === time);
      world.stats.amounts.memoryAvailable = 300 * mebibyte;
      await world.until(() => pressures(made).length === 0);
      const endedAt = world.clock.monotonic();
      if (time === 1) {
        source.set(large, pod('first', { containers }));
        await world.until(() => running(made).includes('first-edge1/main#0'));
        for (const minutes of [6, 6]) await world.pass(minutes * 60_000);
        expect(running(made)).toEqual(['first-edge1/main#0']);
        source.set(large);
      }
      await world.until(() => running(made).includes('large-edge1/main#0'));
      waits.push(Math.round((world.clock.monotonic() - endedAt) / 10_000));
    }
    expect(waits).toEqual([72, 2]);
  });

  test('ten quiet minutes after its return reset the wait of a pod', async () => {
    const made = await node({ ...memoryBelow100Mi, transitionMs: 1000 }, pod('large'));
    const { world, engine } = made;
    const waits: number[] = [];
    for (const quietMinutes of [9.7, 11, 0]) {
      const time = engine.messages('Evicted').length + 1;
      world.stats.amounts.memoryAvailable = 60 * mebibyte;
      await world.until(() => engine.messages('Evicted').length === time);
      world.stats.amounts.memoryAvailable = 300 * mebibyte;
      await world.until(() => pressures(made).length === 0);
      const endedAt = world.clock.monotonic();
      await world.until(() => running(made).length === 1);
      waits.push(Math.round((world.clock.monotonic() - endedAt) / 10_000));
      for (const half of [quietMinutes / 2, quietMinutes / 2]) await world.pass(half * 60_000);
    }
    expect(waits).toEqual([1, 2, 1]);
  });

  test('evicts one after the other at once, and never a critical pod', async () => {
    const made = await short();
    const { world, engine } = made;
    const startedAt = world.clock.monotonic();
    await world.until(() => running(made).length === 1);
    expect(world.clock.monotonic() - startedAt).toBeLessThan(15_000);
    await world.pass(25_000);
    expect(running(made)).toEqual(['critical-edge1/main#0']);
    expect(engine.messages('Evicted')).toHaveLength(2);
    expect(engine.messages('EvictionThresholdMet')).toEqual(['Attempting to reclaim memory']);
  });

  test('a pod with the class of critical pods counts as critical', async () => {
    const made = await node(memoryBelow100Mi, pod('dns', { priorityClassName: 'system-cluster-critical' }));
    made.world.stats.amounts.memoryAvailable = 60 * mebibyte;
    await made.world.pass(30_000);
    expect(running(made)).toEqual(['dns-edge1/main#0']);
  });

  test('with the policy of the kubelet, no static pod is evicted or refused', async () => {
    const made = await short({ ...memoryBelow100Mi, policy: 'kubelet' });
    const { world, source } = made;
    await world.until(() => pressures(made).length > 0);
    source.set(pod('critical', { priority: critical }), pod('large'), pod('small'), pod('late'));
    await world.until(() => running(made).length === 4);
    await world.pass(25_000);
    expect(running(made)).toHaveLength(4);
  });

  test('an evicted pod whose manifest is removed does not come back', async () => {
    const made = await short();
    const { world, engine, source } = made;
    afterEvictions(made, 1, { memoryAvailable: 300 * mebibyte });
    await world.until(() => engine.messages('Evicted').length > 0);
    source.set(pod('critical', { priority: critical }), pod('small'));
    await world.until(() => pressures(made).length === 0);
    await world.pass(15_000);
    expect(engine.pod('large-edge1')).toBeUndefined();
    expect((await world.inventory()).filter((line) => line.startsWith('large'))).toEqual([]);
  });

  test('memory that only the pods lack counts too', async () => {
    const made = await node({ ...memoryBelow100Mi, enforceNodeAllocatable: ['pods'] }, pod('large'));
    made.world.stats.amounts.podsMemoryAvailable = 60 * mebibyte;
    await made.world.until(() => made.engine.messages('Evicted').length > 0);
    expect(pressures(made)).toEqual(['MemoryPressure']);
  });

  test('a pod that does not end in 30 s does not hold up the next one', async () => {
    const made = await short();
    const { world, engine } = made;
    const release = world.runtime.hang('stopContainer');
    await world.until(() => engine.messages('Evicted').length === 1);
    const evictedAt = world.clock.monotonic();
    await world.until(() => engine.messages('Evicted').length === 2);
    expect(Math.round((world.clock.monotonic() - evictedAt) / 1000)).toBe(30);
    release();
  });
});

describe('under pressure', () => {
  test('BestEffort pods wait for memory, and all but critical pods for disk', async () => {
    const made = await node({ evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } });
    const { world, engine, source } = made;
    world.stats.amounts.memoryAvailable = 60 * mebibyte;
    await world.until(() => pressures(made).length > 0);
    world.stats.amounts.memoryAvailable = 300 * mebibyte;
    const requests = { resources: { requests: { memory: '10Mi' } } };
    const burstable = { containers: [{ name: 'main', image: 'registry.example/app:1', ...requests }] };
    source.set(pod('best-effort'), pod('burstable', burstable), pod('critical', { priority: critical }));
    await world.until(() => running(made).length === 2);
    expect(running(made)).toEqual(['burstable-edge1/main#0', 'critical-edge1/main#0']);
    expect(engine.pod('best-effort-edge1')?.pod.status).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message:
        'Pod was rejected: The node had condition: [MemoryPressure]. The agent tries again as soon as the node accepts pods again.',
    });

    world.stats.amounts.diskAvailable = 60 * mebibyte;
    afterEvictions(made, 1, { diskAvailable: 300 * mebibyte });
    await world.until(() => pressures(made).includes('DiskPressure'));
    source.set(pod('best-effort'), pod('late', burstable), pod('critical', { priority: critical }));
    await world.pass(20_000);
    expect(running(made)).toEqual(['critical-edge1/main#0']);
    await world.until(() => running(made).length === 3);
    expect(pressures(made)).toEqual([]);
  });

  test('running out of processes is a pressure too', async () => {
    const made = await node({ evictionHard: { 'pid.available': '10%' } }, pod('forks'), pod('calm'));
    const { world, engine } = made;
    uses(world, 'forks', 1, { process_stats: { process_count: 800 } });
    uses(world, 'calm', 100, { process_stats: { process_count: 1 } });
    world.stats.amounts.processes = 950;
    afterEvictions(made, 1, { processes: 100 });
    await world.until(() => engine.messages('Evicted').length > 0);
    expect(pressures(made)).toEqual(['PIDPressure']);
    expect(engine.messages('Evicted')).toEqual([
      'The node was low on resource: pids. Threshold quantity: 100, available: 50. ',
    ]);
    await world.until(() => running(made).length === 1);
    expect(running(made)).toEqual(['calm-edge1/main#0']);
  });

  test.each([
    [false, 500],
    [true, 100],
  ])('with kernelMemcgNotification: %s, memory below its threshold is noticed within %i ms', async (...row) => {
    const [kernelMemcgNotification, withinMs] = row;
    const world = await World.make();
    const readsAs = (mebibytes: number): Promise<void> =>
      writeFile(join(world.folder, 'proc/meminfo'), `MemTotal: 1048576 kB\nMemFree: ${mebibytes * 1024} kB\n`);
    await mkdir(join(world.folder, 'proc'));
    await readsAs(120);
    const made = await nodeOn(world, { ...memoryBelow100Mi, kernelMemcgNotification }, pod('large'));
    await world.pass(12_000);
    world.stats.amounts.memoryAvailable = 60 * mebibyte;
    await readsAs(60);
    const shrunkAt = world.clock.monotonic();
    await world.until(() => pressures(made).length > 0);
    expect(world.clock.monotonic() - shrunkAt).toBeLessThanOrEqual(withinMs);
  });
});

test('a disk that fills is noticed within a second', async () => {
  const made = await node({ evictionHard: { 'nodefs.available': '10%' } }, pod('large'));
  const { world } = made;
  world.stats.amounts.diskAvailable = 180 * mebibyte;
  await world.pass(12_000);
  world.stats.amounts.diskAvailable = 60 * mebibyte;
  const filledAt = world.clock.monotonic();
  await world.until(() => pressures(made).length > 0);
  expect(world.clock.monotonic() - filledAt).toBeLessThanOrEqual(1000);
});

describe('a soft threshold', () => {
  const soft: Settings = {
    evictionSoft: { 'memory.available': '200Mi' },
    evictionSoftGracePeriod: { 'memory.available': '1m30s' },
    maxPodGracePeriodSeconds: 20,
  };

  test('evicts after its grace period, with the grace period of pods', async () => {
    const made = await node(soft, pod('large'));
    const { world, engine } = made;
    world.stats.amounts.memoryAvailable = 150 * mebibyte;
    await world.until(() => pressures(made).length > 0);
    await world.pass(80_000);
    expect(engine.messages('Evicted')).toEqual([]);
    await world.until(() => engine.messages('Evicted').length > 0);
    await world.until(() => world.runtime.requestsOf('stopContainer').length > 0);
    expect(world.runtime.requestsOf('stopContainer')[0]?.timeout).toBe(20n);
  });

  test('counts again when enough was free meanwhile', async () => {
    const made = await node(soft, pod('large'));
    const { world, engine } = made;
    for (let time = 0; time < 3; time++) {
      world.stats.amounts.memoryAvailable = 150 * mebibyte;
      await world.pass(75_000);
      world.stats.amounts.memoryAvailable = 250 * mebibyte;
      await world.pass(15_000);
    }
    expect(engine.messages('Evicted')).toEqual([]);
  });

  test.each([
    ['a day back', -86_400_000],
    ['a day forward', 86_400_000],
  ])('keeps its grace period when the clock is set %s', async (_where, byMs) => {
    const made = await node(soft, pod('large'));
    const { world, engine } = made;
    world.stats.amounts.memoryAvailable = 150 * mebibyte;
    await world.until(() => pressures(made).length > 0);
    const beganAt = world.clock.monotonic();
    await world.pass(30_000);
    world.clock.setWallClock(world.clock.now() + byMs);
    await world.until(() => engine.messages('Evicted').length > 0);
    expect(Math.round((world.clock.monotonic() - beganAt) / 1000)).toBe(90);
    world.stats.amounts.memoryAvailable = 300 * mebibyte;
    const relievedAt = world.clock.monotonic();
    await world.until(() => pressures(made).length === 0);
    expect(Math.round((world.clock.monotonic() - relievedAt) / 10_000)).toBe(6);
  });
});

test('a threshold is left only when its minimum reclaim is free too', async () => {
  const settings = { ...memoryBelow100Mi, evictionMinimumReclaim: { 'memory.available': '100Mi' } };
  const made = await node(settings, pod('first'), pod('second'));
  const { world, engine } = made;
  afterEvictions(made, 1, { memoryAvailable: 150 * mebibyte });
  afterEvictions(made, 2, { memoryAvailable: 210 * mebibyte });
  world.stats.amounts.memoryAvailable = 60 * mebibyte;
  await world.until(() => engine.messages('Evicted').length === 2);
  await world.until(() => pressures(made).length === 0);
});

describe('a node whose disk is full', () => {
  const diskBelow10Percent = { evictionHard: { 'nodefs.available': '10%' } };

  test('removes dead containers and unused images first, and evicts nothing if that is enough', async () => {
    const world = await World.make();
    world.runtime.addImage('registry.example/old:1');
    const made = await nodeOn(
      world,
      diskBelow10Percent,
      pod('app'),
      pod('job', { restartPolicy: 'Never' }),
      pod('web', { containers: [{ name: 'main', image: 'registry.example/web:1' }] }),
    );
    const { engine } = made;
    world.runtime.exitContainer({ pod: 'job-edge1', container: 'main' }, 0);
    await world.until(() => engine.pod('job-edge1')?.worker.state === 'finished');
    // Unlike those of the first listing, it may have come just now.
    world.runtime.addImage('registry.example/newest:1');
    world.stats.amounts = {
      ...world.stats.amounts,
      get diskAvailable() {
        return (world.runtime.requestsOf('removeImage').length > 0 ? 300 : 60) * mebibyte;
      },
    };
    await world.until(() => pressures(made).length > 0);
    await world.until(() => pressures(made).length === 0);
    expect(engine.messages('Evicted')).toEqual([]);
    expect(nodeEvents(made)).toEqual([
      'NodeHasDiskPressure: Node edge1 status is now: NodeHasDiskPressure',
      'EvictionThresholdMet: Attempting to reclaim ephemeral-storage',
      'DeadContainersRemoved: Removed 1 dead container: the node runs short of disk space',
      'ImageRemoved: Removed image "registry.example/old:1" (1.0 MB), which nothing uses: the node runs short of disk space',
      'NodeHasNoDiskPressure: Node edge1 status is now: NodeHasNoDiskPressure',
    ]);
    expect(running(made)).toEqual(['app-edge1/main#0', 'web-edge1/main#0']);
    expect((await world.inventory()).filter((line) => line.startsWith('job'))).toEqual([]);
    expect(engine.pod('job-edge1')?.pod.status?.phase).toBe('Succeeded');
    const { images } = await world.runtime.listImages();
    expect(images.flatMap(({ repoTags }) => repoTags).toSorted()).toEqual([
      'registry.example/app:1',
      'registry.example/newest:1',
      'registry.example/web:1',
    ]);
  });

  test('reports the dead containers that it removed, and tries again with one that it could not remove', async () => {
    const jobs = ['one', 'two', 'three'];
    const made = await node(
      diskBelow10Percent,
      pod('app'),
      ...jobs.map((name) => pod(name, { restartPolicy: 'Never' })),
    );
    const { world, engine } = made;
    for (const name of jobs) {
      world.runtime.exitContainer({ pod: `${name}-edge1`, container: 'main' }, 0);
      await world.until(() => engine.pod(`${name}-edge1`)?.worker.state === 'finished');
    }
    world.runtime.injectError('removeContainer', new Refusal(codes.unknown, 'device or resource busy'), { times: 1 });
    world.stats.amounts.diskAvailable = 60 * mebibyte;
    await world.until(() => engine.messages('DeadContainersRemoved').length === 2);
    expect(engine.messages('DeadContainersRemoved')).toEqual([
      'Removed 2 dead containers: the node runs short of disk space',
      'Removed 1 dead container: the node runs short of disk space',
    ]);
    expect(made.said).toEqual(['Freeing resources of the node failed']);
  });

  test('evicts the pod that uses most beyond its requests if that is not enough', async () => {
    const made = await node(diskBelow10Percent, pod('small'), pod('large'));
    const { world, engine } = made;
    const onDisk = (usedBytes: number) => ({
      containers: [
        { name: 'main', startTime: '', rootfs: { time: '', usedBytes }, logs: { time: '', usedBytes: mebibyte } },
      ],
    });
    uses(world, 'small', 1, onDisk(10 * mebibyte));
    uses(world, 'large', 1, onDisk(100 * mebibyte));
    afterEvictions(made, 1, { diskAvailable: 300 * mebibyte });
    world.stats.amounts.diskAvailable = 60 * mebibyte;
    await world.until(() => engine.messages('Evicted').length > 0);
    await world.pass(15_000);
    expect(engine.messages('Evicted')).toEqual([
      'The node was low on resource: ephemeral-storage. Threshold quantity: 107374184, available: 60Mi. ' +
        'Container main was using 101Mi, request is 0, has larger consumption of ephemeral-storage. ',
    ]);
    expect(running(made)).toEqual(['small-edge1/main#0']);
  });

  test('a removal of images that hangs does not hold up the eviction for ever', async () => {
    const world = await World.make();
    world.runtime.addImage('registry.example/old:1');
    const made = await nodeOn(world, diskBelow10Percent, pod('app'));
    const { engine } = made;
    world.runtime.hang('removeImage');
    world.stats.amounts.diskAvailable = 60 * mebibyte;
    await world.until(() => engine.messages('Evicted').length > 0);
    expect(made.said).toEqual(['Freeing resources of the node failed']);
  });
});

describe('limits of ephemeral storage', () => {
  test('evict a pod whose container or whose whole usage exceeds them, without pressure', async () => {
    const limited = (limit: string) => ({
      containers: [
        { name: 'main', image: 'registry.example/app:1', resources: { limits: { 'ephemeral-storage': limit } } },
      ],
    });
    const made = await node(
      {},
      pod('writes', limited('10Mi')),
      pod('logs', limited('10Mi')),
      pod('calm', limited('10Mi')),
    );
    const { world, engine } = made;
    const { time } = world.stats;
    const fs = (mebibytes: number) => ({ time, usedBytes: mebibytes * mebibyte });
    uses(world, 'writes', 1, { 'ephemeral-storage': fs(11) });
    uses(world, 'logs', 1, { containers: [{ name: 'main', startTime: time, rootfs: fs(8), logs: fs(3) }] });
    uses(world, 'calm', 1, { 'ephemeral-storage': fs(9) });
    await world.until(() => running(made).length === 1);
    world.stats.pods.clear();
    expect(engine.messages('Evicted').toSorted()).toEqual([
      'Container main exceeded its local ephemeral storage limit "10Mi". ',
      'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ',
    ]);
    expect(running(made)).toEqual(['calm-edge1/main#0']);
    expect(pressures(made)).toEqual([]);
    await world.until(() => running(made).length === 3);
  });
});

describe('a check that', () => {
  test.each([
    ['fails', () => Promise.reject(new Error('no /proc'))],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('%s is skipped and reported once, and pods start meanwhile', async (_how, instead) => {
    const made = await node(memoryBelow100Mi, pod('large'));
    const { world, engine, source, said } = made;
    world.stats.instead = instead;
    world.stats.amounts.memoryAvailable = 60 * mebibyte;
    // Up to ten seconds until the check, and twenty for it.
    await world.pass(30_500);
    expect(said).toEqual(['The resources of the node could not be checked; retrying']);
    await world.pass(15_000);
    source.set(pod('large'), pod('late'));
    await world.until(() => running(made).length === 2);
    expect(said).toEqual(['The resources of the node could not be checked; retrying']);
    world.stats.instead = undefined;
    await world.until(() => engine.messages('Evicted').length > 0);
    expect(said).toEqual([
      'The resources of the node could not be checked; retrying',
      'The resources of the node are checked again',
    ]);
  });

  test('finds nothing is made again every ten seconds', async () => {
    const { world } = await node(memoryBelow100Mi);
    await world.pass(5000);
    const before = world.stats.asked;
    await world.pass(60_000);
    expect(world.stats.asked - before).toBe(6);
  });

  test('nothing needs is not made', async () => {
    const world = await World.make();
    await world.boot({ sources: [], node: makeNodeConfig(world.folder, { localStorageCapacityIsolation: false }) });
    await world.pass(25_000);
    expect(world.stats.asked).toBe(0);
  });
});

describe('an agent that starts again', () => {
  /** A node whose pod `large` was evicted, and its agent crashed. */
  async function crashed(spec: Partial<RawPod['spec']> = {}): Promise<{ made: Node; pods: Pod[] }> {
    const pods = [pod('large', spec), pod('critical', { priority: critical })];
    const made = await node(memoryBelow100Mi, ...pods);
    made.world.stats.amounts.memoryAvailable = 60 * mebibyte;
    await made.world.until(() => made.engine.pod('large-edge1')?.worker.state === 'finished');
    made.engine.crash();
    return { made, pods };
  }

  async function startAgain({ made: { world }, pods }: { made: Node; pods: Pod[] }): Promise<Node> {
    const source = new ManualSource();
    const again: Node = { world, source, ...(await boot(world, source, memoryBelow100Mi)) };
    source.set(...pods);
    return again;
  }

  const startsOf = ({ world }: Node, name: string): number =>
    world.runtime.requestsOf('createContainer').filter(({ sandboxConfig }) => sandboxConfig?.metadata?.uid === name)
      .length;

  test('starts no evicted pod before it has checked the node, and then only when there is no pressure', async () => {
    const again = await startAgain(await crashed());
    const { world, engine } = again;
    world.stats.instead = () => Promise.reject(new Error('no /proc'));
    await world.pass(25_000);
    expect(engine.pod('large-edge1')?.pod.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    world.stats.instead = undefined;
    await world.until(() => pressures(again).length > 0);
    await world.pass(15_000);
    expect(running(again)).toEqual(['critical-edge1/main#0']);
    world.stats.amounts.memoryAvailable = 300 * mebibyte;
    await world.until(() => engine.isReady('large-edge1'));
    expect(pressures(again)).toEqual([]);
    expect({ starts: startsOf(again, 'large'), events: engine.messages('Evicted') }).toEqual({ starts: 2, events: [] });
  });

  test('starts an evicted pod 10 s after its first check, where there is no pressure any more', async () => {
    const before = await crashed();
    const { world } = before.made;
    world.stats.amounts.memoryAvailable = 300 * mebibyte;
    const again = await startAgain(before);
    const startedAt = world.clock.monotonic();
    await world.until(() => again.engine.isReady('large-edge1'));
    const waitedMs = world.clock.monotonic() - startedAt;
    expect(waitedMs).toBeGreaterThanOrEqual(10_000);
    expect(waitedMs).toBeLessThan(13_000);
  });

  test('ends an evicted pod whose containers still run', async () => {
    const pods = [pod('large')];
    const made = await node(memoryBelow100Mi, ...pods);
    const { world } = made;
    const stops = (): number => world.runtime.requestsOf('stopContainer').length;
    const release = world.runtime.hang('stopContainer');
    world.stats.amounts.memoryAvailable = 60 * mebibyte;
    await world.until(() => stops() === 1);
    made.engine.crash();
    const again = await startAgain({ made, pods });
    world.stats.instead = () => Promise.reject(new Error('no /proc'));
    await world.until(() => stops() === 2);
    release();
    await world.until(() => running(again).length === 0);
    expect(startsOf(again, 'large')).toBe(1);
  });

  test('leaves an evicted pod that is never restarted as it is', async () => {
    const before = await crashed({ restartPolicy: 'Never' });
    before.made.world.stats.amounts.memoryAvailable = 300 * mebibyte;
    const again = await startAgain(before);
    await again.world.pass(60_000);
    expect(again.engine.pod('large-edge1')?.pod.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(startsOf(again, 'large')).toBe(1);
  });

  test('starts an evicted pod when it has no threshold any more', async () => {
    const { made, pods } = await crashed();
    const source = new ManualSource();
    const again: Node = { world: made.world, source, ...(await boot(made.world, source, {})) };
    source.set(...pods);
    await again.world.until(() => again.engine.isReady('large-edge1'));
  });
});
