import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadManifest } from '../../src/engine/config/load-manifest.ts';
import { explainPod } from '../../src/engine/explain/explain-pod.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

function manifest(kind: string, ...spec: string[]): string {
  const lines = ['apiVersion: batch/v1', `kind: ${kind}`, 'metadata: {name: pi}', 'spec:'];
  return [...lines, ...spec.map((line) => `  ${line}`)].join('\n');
}

const template = 'template: {spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}}';
const job = (...spec: string[]): string => manifest('Job', ...spec, template);
const indexed = 'completionMode: Indexed';
const cronJob = (...spec: string[]): string => manifest('CronJob', ...spec, `jobTemplate: {spec: {${template}}}`);

async function boot(world: World, text: string): Promise<Engine> {
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setManifest(text);
  return engine;
}

/** A world whose containers run for a second. */
async function worldOf(exitCode = 0): Promise<World> {
  const world = await World.make();
  world.runtime.addImage('app:1');
  world.runtime.script('main', { exitAfterMs: 1000, exitCode });
  return world;
}

/** The pods as `name phase`, without the node. */
const pods = (engine: Engine): string[] =>
  engine.kubelet
    .snapshot()
    .pods.map(({ pod }) => `${pod.metadata.name.replace('-edge1', '')} ${pod.status?.phase ?? ''}`)
    .toSorted();

/** How often a container of each pod was created. */
function startsOf(world: World): Record<string, number> {
  const starts: Record<string, number> = {};
  for (const { sandboxConfig } of world.runtime.requestsOf('createContainer')) {
    const name = (sandboxConfig?.metadata?.name ?? '').replace('-edge1', '');
    starts[name] = (starts[name] ?? 0) + 1;
  }
  return starts;
}

describe('a Job', () => {
  test('of three completions runs two pods at a time, each once, although the agent is killed', async () => {
    const world = await worldOf();
    const text = job('completions: 3', 'parallelism: 2');
    let engine = await boot(world, text);
    await world.until(() => world.runtime.running().length === 2);
    expect(pods(engine)).toHaveLength(2);
    engine.crash();
    engine = await boot(world, text);
    await world.until(() => pods(engine).join() === 'pi Succeeded,pi-1 Succeeded,pi-2 Succeeded');
    await world.until(() => engine.messages('Completed').length > 0);
    engine.crash();
    engine = await boot(world, text);
    await world.pass(120_000);
    expect(pods(engine)).toEqual(['pi Succeeded', 'pi-1 Succeeded', 'pi-2 Succeeded']);
    expect(startsOf(world)).toEqual({ pi: 1, 'pi-1': 1, 'pi-2': 1 });
  });

  test('is done, although the runtime lost all its data', async () => {
    const world = await worldOf();
    let engine = await boot(world, job());
    await world.until(() => engine.messages('Completed').length > 0);
    await engine.kill();
    world.runtime.reboot({ forgets: true });
    engine = await boot(world, job());
    await world.pass(120_000);
    expect({ pods: pods(engine), starts: startsOf(world) }).toEqual({ pods: ['pi Succeeded'], starts: { pi: 1 } });
  });

  test('is done, although an agent was started with a wrong folder, and a count stays', async () => {
    const server =
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: web, image: app:1}]}}}';
    const text = `${job()}\n---\n${server}`;
    const world = await worldOf(1);
    let engine = await boot(world, text);
    await world.until(() => engine.phase('pi-edge1') === 'Failed');
    world.runtime.script('main', { exitAfterMs: 1000 });
    await world.until(() => engine.messages('Completed').length > 0);
    const workload = { kind: 'Deployment', namespace: 'default', name: 'web' } as const;
    await engine.kubelet.operateWorkload({ action: 'scale', workload, replicas: 2 });
    await world.until(() => engine.isReady('web-1-edge1'));
    await engine.kill();
    engine = await boot(world, '');
    await world.pass(30_000);
    await engine.kill();
    engine = await boot(world, text);
    await world.pass(120_000);
    expect({ pods: pods(engine), starts: startsOf(world) }).toEqual({
      pods: ['pi Succeeded', 'web Running', 'web-1 Running'],
      starts: { pi: 2, web: 1, 'web-1': 1 },
    });
  });

  test('continues that an earlier release started, which wrote no record', async () => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs: 30_000 });
    const before = new ManualSource();
    const first = await world.boot({ sources: [before] });
    before.set(...loadManifest(Buffer.from(job()), before.where, { nodeName: 'edge1' }).pods);
    await world.until(() => world.runtime.running().length === 1);
    first.crash();
    const engine = await boot(world, job());
    await world.until(() => engine.messages('Completed').length > 0);
    expect({ pods: pods(engine), starts: startsOf(world) }).toEqual({ pods: ['pi Succeeded'], starts: { pi: 1 } });
  });

  test('that changed while no agent ran replaces its pod', async () => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs: 30_000 });
    const first = await boot(world, job());
    await world.until(() => world.runtime.running().length === 1);
    first.crash();
    const engine = await boot(world, job().replace('Never', 'OnFailure'));
    await world.until(() => engine.messages('Completed').length > 0);
    expect({ pods: pods(engine), starts: startsOf(world) }).toEqual({ pods: ['pi Succeeded'], starts: { pi: 2 } });
  });

  test.each([
    ['completions cross 1', ['completions: 1'], ['completions: 3', 'parallelism: 2']],
    ['completions of indexes cross 1', ['completions: 1', indexed], ['completions: 3', indexed]],
    ['pods of a queue cross 1', ['parallelism: 1'], ['parallelism: 2']],
    ['it has a deadline', ['activeDeadlineSeconds: 100'], ['activeDeadlineSeconds: 200']],
    ['it may fail more often', ['backoffLimit: 1'], ['backoffLimit: 2']],
    ['it is suspended', ['suspend: false'], ['suspend: true']],
  ])('whose manifest changes runs no index again that is done: %s', async (_what, ...specs) => {
    const world = await worldOf();
    const source = new ManualSource();
    let engine = await world.boot({ sources: [source] });
    for (const spec of [...specs, ...specs]) {
      source.setManifest(job(...spec));
      await world.pass(30_000);
    }
    engine.crash();
    engine = await boot(world, job(...(specs.at(-1) ?? [])));
    await world.pass(30_000);
    expect(Object.values(startsOf(world)).filter((starts) => starts !== 1)).toEqual([]);
    expect(engine.kubelet.snapshot().workloads?.[0]?.job).toMatchObject({ active: 0, failed: 0, result: 'Complete' });
  });

  test.each([
    ['is done', 1000, 30_000],
    ['is done before the next agent starts', 60_000, 120_000],
    ['runs', 600_000, 30_000],
  ])('that %s when the node is renamed runs no pod again', async (_what, exitAfterMs, offMs) => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs });
    let engine = await boot(world, job());
    await world.pass(10_000);
    engine.crash();
    await world.pass(offMs);
    const source = new ManualSource();
    engine = await world.boot({ sources: [source], node: makeNodeConfig(world.folder, { nodeName: 'edge2' }) });
    source.setManifest(job(), 'edge2');
    await world.until(() => engine.kubelet.snapshot().workloads?.[0]?.job?.result === 'Complete');
    await world.pass(30_000);
    expect(startsOf(world)).toEqual({ pi: 1 });
  });

  test('whose deadline is moved while it runs continues until then', async () => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs: 3_600_000 });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.setManifest(job('activeDeadlineSeconds: 60'));
    await world.until(() => world.runtime.running().length === 1);
    source.setManifest(job('activeDeadlineSeconds: 120'));
    await world.pass(90_000);
    expect({ starts: startsOf(world), running: world.runtime.running().length }).toEqual({
      starts: { pi: 1 },
      running: 1,
    });
    await world.until(() => engine.messages('DeadlineExceeded').length > 0);
    await world.until(() => world.runtime.running().length === 0);
    expect(startsOf(world)).toEqual({ pi: 1 });
  });

  test('that is suspended stops its pod, and runs another one when it is resumed', async () => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs: 30_000 });
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.setManifest(job('suspend: false'));
    await world.until(() => world.runtime.running().length === 1);
    source.setManifest(job('suspend: true'));
    await world.until(() => pods(engine).length === 0);
    expect(world.runtime.running()).toEqual([]);
    source.setManifest(job('suspend: false'));
    await world.until(() => engine.messages('Completed').length > 0);
    expect(startsOf(world)).toEqual({ pi: 2 });
    expect(engine.messages('Resumed')).toEqual(['Job default/pi: Job resumed']);
  });

  test('that fails runs new pods until its limit, and no more after that', async () => {
    const world = await worldOf(3);
    let engine = await boot(world, job('backoffLimit: 2'));
    await world.until(() => engine.messages('BackoffLimitExceeded').length > 0);
    expect({ pods: pods(engine), starts: startsOf(world) }).toEqual({ pods: ['pi Failed'], starts: { pi: 3 } });
    engine.crash();
    engine = await boot(world, job('backoffLimit: 2'));
    await world.pass(600_000);
    expect(startsOf(world)).toEqual({ pi: 3 });
  });
});

describe('an operator', () => {
  const pod = { namespace: 'default', name: 'pi-edge1' };
  const statusOf = (engine: Engine) => {
    const { active, succeeded, failed, result } = engine.kubelet.snapshot().workloads?.[0]?.job ?? {};
    return { active, succeeded, failed, result };
  };

  test('retries a finished pod of a Job, which is open until the pod has ended, also across a kill', async () => {
    const world = await worldOf();
    const text = job('completions: 2', 'parallelism: 2');
    let engine = await boot(world, text);
    await world.until(() => engine.messages('Completed').length === 1);
    world.runtime.script('main', { exitAfterMs: 30_000 });
    await engine.kubelet.operate({ action: 'retry', pod });
    await world.until(() => world.runtime.running().length === 1);
    expect(statusOf(engine)).toEqual({ active: 1, succeeded: 1, failed: 0 });
    engine.crash();
    engine = await boot(world, text);
    await world.until(() => engine.messages('Completed').length === 1);
    expect(statusOf(engine)).toEqual({ active: 0, succeeded: 2, failed: 0, result: 'Complete' });
    expect(startsOf(world)).toEqual({ pi: 2, 'pi-1': 1 });
  });

  test('stops a pod of a Job, which waits until the pod is started again', async () => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs: 30_000 });
    const engine = await boot(world, job('completions: 2', 'parallelism: 2', 'backoffLimit: 0'));
    await world.until(() => world.runtime.running().length === 2);
    await engine.kubelet.operate({ action: 'stop', pod });
    await world.pass(120_000);
    expect(statusOf(engine)).toEqual({ active: 1, succeeded: 1, failed: 0 });
    await engine.kubelet.operate({ action: 'start', pod });
    await world.until(() => engine.messages('Completed').length === 1);
    expect(startsOf(world)).toEqual({ pi: 2, 'pi-1': 1 });
  });
});

test('a Job whose pod does not fit waits, and no attempt fails meanwhile', async () => {
  const world = await worldOf();
  const big = job('backoffLimit: 0').replace('image: app:1', 'image: app:1, resources: {requests: {cpu: 1000}}');
  const engine = await boot(world, big);
  await world.pass(120_000);
  expect(engine.kubelet.snapshot().workloads?.[0]?.job).toMatchObject({ active: 1, failed: 0 });
});

describe('a Job that another source declares', () => {
  const [here, there] = ['/manifests/pi.yaml', '/other/pi.yaml'];
  /** Boots an engine with both sources. A source without a text declares an empty list. */
  async function bootBoth(world: World, texts: { here?: string; there?: string }) {
    const sources = { here: new ManualSource('file', here), there: new ManualSource('applied', there) };
    const engine = await world.boot({ sources: [sources.here, sources.there] });
    for (const place of ['here', 'there'] as const) sources[place].setManifest(texts[place] ?? '');
    return { engine, ...sources };
  }
  const three = job('completions: 3', 'parallelism: 2', indexed);
  const done = ['pi Succeeded', 'pi-1 Succeeded', 'pi-2 Succeeded'];
  const once = { pi: 1, 'pi-1': 1, 'pi-2': 1 };
  const statusOf = (engine: Engine) => {
    const { completions, succeeded, active } = engine.kubelet.snapshot().workloads?.[0]?.job ?? {};
    return { completions, succeeded, active };
  };

  test('too runs on there when the first source drops it', async () => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs: 30_000 });
    const { engine, ...sources } = await bootBoth(world, { here: three });
    await world.until(() => world.runtime.running().length === 2);
    sources.there.setManifest(three);
    await world.pass(5000);
    sources.here.setManifest('');
    await world.until(() => engine.messages('Completed').length > 0);
    sources.here.setManifest(three);
    await world.pass(5000);
    sources.there.setManifest('');
    await world.pass(120_000);
    expect({ pods: pods(engine), starts: startsOf(world), ...statusOf(engine) }).toEqual({
      pods: done,
      starts: once,
      completions: 3,
      succeeded: 3,
      active: 0,
    });
  });

  test.each([
    ['while the agent runs', false],
    ['while the agent is off', true],
  ])('next is done, although nothing declared it for a while, %s', async (_when, isOff) => {
    const world = await worldOf();
    const first = await bootBoth(world, { here: three });
    await world.until(() => first.engine.messages('Completed').length > 0);
    first.here.setManifest('');
    await world.until(() => first.engine.kubelet.snapshot().pods.length === 0);
    await world.pass(60_000);
    if (isOff) first.engine.crash();
    const next = isOff ? await bootBoth(world, {}) : first;
    next.there.setManifest(three);
    await world.pass(120_000);
    expect({ starts: startsOf(world), ...statusOf(next.engine) }).toEqual({
      starts: once,
      completions: 3,
      succeeded: 3,
      active: 0,
    });
  });

  test('after an hour runs again, as does one that is removed and added at the same place', async () => {
    const world = await worldOf();
    const { engine, ...sources } = await bootBoth(world, { here: job() });
    await world.until(() => engine.messages('Completed').length === 1);
    sources.here.setManifest('');
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    sources.here.setManifest(job());
    await world.until(() => engine.messages('Completed').length === 2);
    sources.here.setManifest('');
    await world.leap(3_601_000);
    await world.pass(60_000);
    sources.there.setManifest(job());
    await world.until(() => engine.messages('Completed').length === 3);
    expect(startsOf(world)).toEqual({ pi: 3 });
  });
});

test('a Job that is removed while its first record is written leaves nothing for long', async () => {
  const world = await worldOf();
  const source = new ManualSource();
  await world.boot({ sources: [source] });
  source.setManifest('');
  await world.pass(5000);
  source.setManifest(job());
  source.setManifest('');
  await world.pass(5000);
  await world.leap(3_601_000);
  await world.pass(60_000);
  expect(await readdir(join(world.rootDir, 'state', 'workloads'))).toEqual([]);
});

test('a Job starts no pod again while all pods are removed', async () => {
  const world = await worldOf();
  world.runtime.script('main', { exitAfterMs: 3_600_000, stopAfterMs: 5000 });
  const engine = await boot(world, job('completions: 5', 'parallelism: 2'));
  await world.until(() => world.runtime.running().length === 2);
  let left: unknown;
  void engine.kubelet.removeAllPods().then((unremoved) => (left = unremoved));
  await world.until(() => left !== undefined);
  await world.pass(60_000);
  expect({ left, pods: pods(engine), starts: startsOf(world) }).toEqual({
    left: [],
    pods: [],
    starts: { pi: 1, 'pi-1': 1 },
  });
});

test('a Job whose template changes while it runs begins again', async () => {
  const world = await worldOf();
  world.runtime.addImage('app:2');
  world.runtime.script('main', { exitAfterMs: 30_000 });
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setManifest(job());
  await world.until(() => world.runtime.running().length === 1);
  source.setManifest(job().replace('app:1', 'app:2'));
  await world.until(() => engine.messages('Completed').length > 0);
  expect({ pods: pods(engine), starts: startsOf(world) }).toEqual({ pods: ['pi Succeeded'], starts: { pi: 2 } });
});

describe('a start with a wrong folder', () => {
  test.each([
    ['whose finished pod is kept', job()],
    ['whose pod is not kept', job('ttlSecondsAfterFinished: 1')],
  ])('does not make a Job run again %s', async (_what, text) => {
    const world = await worldOf();
    let engine = await boot(world, text);
    await world.until(() => engine.messages('Completed').length > 0);
    await world.pass(10_000);
    await engine.kill();
    for (const wrong of ['', '']) {
      engine = await boot(world, wrong);
      await world.pass(60_000);
      await world.leap(2 * 3_600_000);
      await world.pass(60_000);
      await engine.kill();
    }
    engine = await boot(world, text);
    await world.pass(120_000);
    expect(startsOf(world)).toEqual({ pi: 1 });
    expect(engine.kubelet.snapshot().workloads?.[0]?.job).toMatchObject({ succeeded: 1, result: 'Complete' });
  });

  test('is over for a Job once a start with --prune confirms it', async () => {
    const world = await worldOf();
    let engine = await boot(world, job());
    await world.until(() => engine.messages('Completed').length > 0);
    await engine.kill();
    const nothing = new ManualSource();
    engine = await world.boot({ sources: [nothing], prunes: true });
    nothing.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    await world.pass(30_000);
    await world.leap(3_601_000);
    await world.pass(30_000);
    await engine.kill();
    engine = await boot(world, job());
    await world.until(() => engine.messages('Completed').length > 0);
    expect(startsOf(world)).toEqual({ pi: 2 });
  });
});

test.each([
  ['a Job that is suspended meanwhile', job('suspend: false'), job('suspend: true'), 0],
  [
    'a CronJob whose next run replaces it',
    cronJob('schedule: "@hourly"', 'concurrencyPolicy: Replace'),
    cronJob('schedule: "@hourly"', 'concurrencyPolicy: Replace'),
    1,
  ],
])('a start stops the only pod that runs, which belongs to %s', async (_what, before, after, running) => {
  const world = await worldOf();
  world.runtime.script('main', { exitAfterMs: 24 * 3_600_000 });
  let engine = await boot(world, before);
  await world.pass(5000);
  await world.leap(3_600_000);
  await world.until(() => world.runtime.running().length === 1);
  const [first] = world.runtime.running();
  engine.crash();
  await world.leap(3_600_000);
  engine = await boot(world, after);
  await world.until(() => !world.runtime.running().includes(first ?? ''));
  await world.pass(60_000);
  expect({ pods: pods(engine).length, running: world.runtime.running().length }).toEqual({ pods: running, running });
});

describe('a CronJob', () => {
  test.each([
    ['is done', 1000],
    ['goes on', 600_000],
    ['fails, and needs another pod,', 60_000, 1],
  ])('whose run %s when the node is renamed goes on, and then the next', async (_what, exitAfterMs, exitCode = 0) => {
    const world = await worldOf();
    world.runtime.script('main', { exitAfterMs, exitCode });
    const text = cronJob('schedule: "@hourly"', 'timeZone: Etc/UTC', 'concurrencyPolicy: Forbid');
    let engine = await boot(world, text);
    await world.pass(5000);
    await world.leap(3_600_000);
    await world.until(() => world.runtime.requestsOf('startContainer').length === 1);
    await world.pass(10_000);
    engine.crash();
    const source = new ManualSource();
    engine = await world.boot({ sources: [source], node: makeNodeConfig(world.folder, { nodeName: 'edge2' }) });
    source.setManifest(text, 'edge2');
    await world.pass(60_000);
    world.runtime.script('main', { exitAfterMs, exitCode: 0 });
    const results = () => engine.kubelet.snapshot().workloads?.[0]?.cronJob?.jobs.map(({ result }) => result);
    await world.until(() => results()?.[0] === 'Complete');
    await world.pass(30_000);
    const attempts = 1 + exitCode;
    expect(world.runtime.requestsOf('startContainer')).toHaveLength(attempts);
    await world.leap(3_600_000);
    await world.until(() => results()?.[1] === 'Complete');
    expect(world.runtime.requestsOf('startContainer')).toHaveLength(attempts + 1);
  });

  test('runs when an operator asks, once, also suspended and across a kill', async () => {
    const world = await worldOf(3);
    const text = cronJob('schedule: "@daily"', 'suspend: true', 'failedJobsHistoryLimit: 0').replace(
      '{spec: {t',
      '{spec: {backoffLimit: 0, t',
    );
    let engine = await boot(world, text);
    await world.until(() => engine.kubelet.snapshot().workloads?.length === 1);
    const workload = { kind: 'CronJob' as const, namespace: 'default', name: 'pi' };
    const name = await engine.kubelet.operateWorkload({ action: 'run', workload });
    expect(name).toMatch(/^pi-run-[a-z0-9]{6}$/);
    engine.crash();
    engine = await boot(world, text);
    await world.until(() => engine.kubelet.snapshot().workloads?.[0]?.cronJob?.jobs[0]?.result === 'Failed');
    await world.pass(120_000);
    expect(engine.kubelet.snapshot().workloads?.[0]?.cronJob?.jobs).toMatchObject([{ name, failed: 1 }]);
    expect(startsOf(world)).toEqual({ [name]: 1 });
    await expect(engine.kubelet.operateWorkload({ action: 'scale', replicas: 2, workload })).rejects.toThrow(
      'a CronJob has no replicas',
    );
  });

  test('that operators request at once has a run for each, whose result stays a while', async () => {
    const world = await worldOf();
    const text = cronJob('schedule: "@yearly"', 'successfulJobsHistoryLimit: 0', 'failedJobsHistoryLimit: 0');
    const engine = await boot(world, text);
    await world.until(() => engine.kubelet.snapshot().workloads?.length === 1);
    const workload = { kind: 'CronJob' as const, namespace: 'default', name: 'pi' };
    const run = (): Promise<string> => engine.kubelet.operateWorkload({ action: 'run', workload });
    const names = await Promise.all([run(), run(), run()]);
    const results = (): unknown[] =>
      (engine.kubelet.snapshot().workloads?.[0]?.cronJob?.jobs ?? []).map(({ name, result }) => ({ name, result }));
    await world.until(() => engine.messages('Completed').length === 3);
    expect(results()).toEqual([...new Set(names)].map((name) => ({ name, result: 'Complete' })));
    expect(startsOf(world)).toEqual(Object.fromEntries(names.map((name) => [name, 1])));
  });

  test('runs once each minute, although the agent is killed', async () => {
    const world = await worldOf();
    const text = cronJob('schedule: "* * * * *"', 'timeZone: Etc/UTC');
    let engine = await boot(world, text);
    const total = (): number => Object.keys(startsOf(world)).length;
    for (let run = 1; run <= 5; run++) {
      await world.until(() => total() === run);
      engine.crash();
      engine = await boot(world, text);
    }
    await world.pass(10_000);
    expect(Object.values(startsOf(world))).toEqual([1, 1, 1, 1, 1]);
    expect(engine.messages('Completed')).not.toEqual([]);
    expect(pods(engine)).toHaveLength(3);
  });

  test('runs the newest run that was due while no agent ran', async () => {
    const world = await worldOf();
    const text = cronJob('schedule: "@hourly"', 'timeZone: Etc/UTC');
    const engine = await boot(world, text);
    await world.pass(5000);
    await engine.kill();
    await world.leap(10 * 3600 * 1000);
    await boot(world, text);
    await world.until(() => Object.keys(startsOf(world)).length === 1);
    await world.pass(60_000);
    const minute = Math.floor(world.clock.now() / 3_600_000) * 60;
    expect(startsOf(world)).toEqual({ [`pi-${minute}`]: 1 });
  });
});

test.each([
  ['a Job', job('backoffLimit: 0')],
  [
    'a pod',
    'apiVersion: v1\nkind: Pod\nmetadata: {name: pi}\nspec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}',
  ],
])('%s says that its container was ended, because the agent was killed during the start', async (_what, text) => {
  const world = await worldOf();
  const release = world.runtime.hang('startContainer');
  let engine = await boot(world, text);
  await world.until(() => world.runtime.requestsOf('startContainer').length === 1);
  engine.crash();
  world.runtime.cutOffStart({ pod: 'pi-edge1', container: 'main' });
  release();
  engine = await boot(world, text);
  await world.until(() => engine.phase('pi-edge1') === 'Failed' && engine.pod('pi-edge1')?.worker.state === 'finished');
  const node = engine.kubelet.snapshot();
  expect(node.pods.map((own) => explainPod({ ...own, node }))).toMatchObject([
    {
      cause:
        'main did not start: its start was cut off, because kubelet-ts or the runtime was killed; restartPolicy Never does not start it again',
      evidence: [{ text: 'exited with code 128 (StartError): failed to create containerd task: context canceled' }],
      fixes: ['Run it again: kubelet-ts retry pi'],
    },
  ]);
  await engine.kubelet.operate({ action: 'retry', pod: { namespace: 'default', name: 'pi-edge1' } });
  await world.until(() => engine.phase('pi-edge1') === 'Succeeded');
});
