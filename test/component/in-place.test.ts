import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { defaultInPlacePolicy } from '../../src/api/values/in-place.ts';
import { isConditionMet } from '../../src/commands/wait/wait-condition.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

interface Revision {
  image?: string;
  memory?: string;
  cpu?: string;
  annotations?: Record<string, string>;
  spec?: Partial<RawPod['spec']>;
  resizePolicy?: { resourceName: string; restartPolicy: string }[];
  uid?: string;
}

/** A revision of the pod `web` with the containers `main` and `side`. Its UID is derived unless it has one. */
function revision({ image = 'app:1', memory = '64Mi', cpu = '100m', resizePolicy, ...rest }: Revision = {}): Pod {
  const { annotations, spec, uid } = rest;
  return makeStaticPod('web', {
    ...(uid !== undefined && { uid }),
    ...(annotations !== undefined && { annotations }),
    spec: {
      containers: [
        {
          name: 'main',
          image,
          resources: { requests: { cpu }, limits: { memory } },
          ...(resizePolicy !== undefined && { resizePolicy }),
        },
        { name: 'side', image: 'side:1' },
      ],
      ...spec,
    },
  });
}

interface Running {
  world: World;
  engine: Engine;
  source: ManualSource;
  first: Pod;
}

/** Boots an engine and waits until the first revision runs. */
async function runningFirst(first: Pod = revision(), { inPlace = true } = {}): Promise<Running> {
  const world = await World.make();
  for (const image of ['app:1', 'side:1', 'registry.example/app:1']) world.runtime.addImage(image);
  const source = new ManualSource();
  const engine = await world.boot({
    sources: [source],
    node: makeNodeConfig(world.folder, { inPlace: { ...defaultInPlacePolicy, isEnabled: inPlace } }),
  });
  source.setDerived(first);
  await world.until(() => engine.isReady('web-edge1'));
  await world.pass(2000);
  return { world, engine, source, first };
}

/** A pod with one container that requests this much CPU. The node has 2. Its UID is derived. */
function requesting(name: string, cpu: string): Pod {
  return makeStaticPod(name, {
    spec: { containers: [{ name: 'main', image: 'app:1', resources: { requests: { cpu } } }] },
  });
}

/** Calls with an effect, in order, after the start of the first revision. */
const changes = (world: World): string[] =>
  world.runtime.calls
    .map(({ method }) => method)
    .filter((method) => /^(run|create|start|stopContainer|pull|update)/.test(method))
    .slice(['runPodSandbox', ...['main', 'side'].flatMap(() => ['createContainer', 'startContainer'])].length);

const isUpdated = (engine: Engine): boolean => isConditionMet('web', 'updated', engine.kubelet.snapshot());

/** Type, reason and message of the conditions that show a resize. */
const resizeConditions = (engine: Engine): (string | undefined)[][] =>
  (engine.pod('web-edge1')?.pod.status?.conditions ?? [])
    .filter((condition) => condition.type.startsWith('PodResize'))
    .map((condition) => [condition.type, condition.reason, condition.message]);

const memoryLimits = (world: World): (bigint | undefined)[] =>
  world.runtime.requestsOf('updateContainerResources').map(({ linux }) => linux?.memoryLimitInBytes);

const uids = (engine: Engine): string[] => engine.kubelet.snapshot().pods.map(({ pod }) => pod.metadata.uid);

const MiB = 2n ** 20n;

describe('a change of cpu or memory', () => {
  test('is applied without a restart, and the pod stays the same', async () => {
    const { world, engine, source, first } = await runningFirst();
    const ip = engine.pod('web-edge1')?.pod.status?.podIP;
    source.setDerived(revision({ memory: '128Mi', cpu: '200m' }));
    await engine.kubelet.settled();
    expect(isUpdated(engine)).toBe(false);
    await world.until(() => isUpdated(engine));
    // Memory first, then CPU. The second container has no limits, so those of the pod stay.
    const [update, pod] = ['updateContainerResources', 'updatePodSandboxResources'];
    expect(changes(world)).toEqual([update, pod, update]);
    expect(memoryLimits(world)).toEqual([128n * MiB, 128n * MiB]);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0', 'web-edge1/side#0']);
    expect(uids(engine)).toEqual([first.metadata.uid]);
    expect(engine.pod('web-edge1')?.pod.status?.podIP).toBe(ip);
    expect(engine.messages('UpdatedInPlace')).toEqual(['Updated in place, no container restarts: resources of main']);
    expect(engine.messages('ResizeCompleted')).toEqual([
      'Resized container main without a restart: cpu request 100m → 200m, memory request 64Mi → 128Mi, ' +
        'memory limit 64Mi → 128Mi',
    ]);
  });

  test('changes the files that show it', async () => {
    const limit = { resource: 'limits.memory', containerName: 'main', divisor: '1Mi' };
    const volumeMounts = [{ name: 'info', mountPath: '/info' }];
    const spec = (memory: string): Pod['spec'] => ({
      containers: [{ name: 'main', image: 'app:1', resources: { limits: { memory } }, volumeMounts }],
      volumes: [{ name: 'info', downwardAPI: { items: [{ path: 'limit', resourceFieldRef: limit }] } }],
    });
    const first = makeStaticPod('web', { spec: spec('64Mi') });
    const { world, engine, source } = await runningFirst(first);
    const volume = join(world.rootDir, 'pods', first.metadata.uid, 'volumes/kubernetes.io~downward-api/info/limit');
    expect(await readFile(volume, 'utf8')).toBe('64');
    source.setDerived(makeStaticPod('web', { spec: spec('128Mi') }));
    await world.until(() => isUpdated(engine));
    expect(await readFile(volume, 'utf8')).toBe('128');
    // The volume is a mount, which goes with the pod.
    source.setDerived();
    await world.until(async () => (await world.inventory()).length === 0);
    await world.until(() => !existsSync(volume));
  });

  test('restarts only the container whose resizePolicy wants it', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const { world, engine, source } = await runningFirst(revision({ resizePolicy }));
    source.setDerived(revision({ resizePolicy, cpu: '200m' }));
    await world.until(() => isUpdated(engine));
    expect(changes(world)).toEqual(['updatePodSandboxResources', 'updateContainerResources']);
    source.setDerived(revision({ resizePolicy, cpu: '200m', memory: '128Mi' }));
    await world.until(() => isUpdated(engine));
    expect(changes(world).slice(2)).toEqual(['stopContainer', 'createContainer', 'startContainer']);
    expect(world.runtime.running()).toEqual(['web-edge1/main#1', 'web-edge1/side#0']);
    expect(world.runtime.requestsOf('createContainer').at(-1)?.config?.linux?.resources?.memoryLimitInBytes).toBe(
      128n * MiB,
    );
  });

  test('that does not fit waits while the pod runs on, and follows when there is room', async () => {
    const { world, engine, source } = await runningFirst();
    const other = requesting('other', '1500m');
    source.setDerived(revision(), other);
    await world.until(() => engine.isReady('other-edge1'));
    source.setDerived(revision({ cpu: '1' }), other);
    await world.until(() => engine.messages('ResizeDeferred').length === 1);
    expect(engine.messages('ResizeDeferred')).toEqual([
      "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000 (it requests 1 cpu, and other " +
        'pods hold 1.5 of the 2 of this node); the previous revision keeps running until then',
    ]);
    expect(engine.pod('web-edge1')?.waitingUpdate?.reason).toBe('OutOfcpu');
    expect(engine.phase('web-edge1')).toBe('Running');
    expect(isUpdated(engine)).toBe(false);
    await world.pass(60_000);
    expect(memoryLimits(world)).toEqual([]);
    expect(resizeConditions(engine)).toEqual([
      [
        'PodResizePending',
        'Deferred',
        "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000",
      ],
    ]);
    source.setDerived(revision({ cpu: '3' }), other);
    await world.until(() => engine.messages('ResizeInfeasible').length === 1);
    await world.until(() => resizeConditions(engine)[0]?.[1] === 'Infeasible');
    source.setDerived(revision({ cpu: '1' }));
    await world.until(() => isUpdated(engine));
    expect(resizeConditions(engine)).toEqual([]);
    expect(memoryLimits(world)).toEqual([64n * MiB]);
  });

  test('that waits for its image after there is room no longer shows that it does not fit', async () => {
    const { world, engine, source } = await runningFirst();
    const other = requesting('other', '1500m');
    source.setDerived(revision(), other);
    await world.until(() => engine.isReady('other-edge1'));
    source.setDerived(revision({ cpu: '1', image: 'app:2' }), other);
    await world.until(() => resizeConditions(engine).length === 1);
    world.runtime.hang('pullImage');
    source.setDerived(revision({ cpu: '1', image: 'app:2' }));
    await world.until(() => engine.pod('web-edge1')?.waitingUpdate?.reason === 'Pulling');
    await world.pass(100);
    expect(resizeConditions(engine)).toEqual([]);
  });

  test.each([
    ['of the same source', true],
    ['of a source that was not read yet', false],
  ])('that does not fit next to a pod %s waits after a restart of the agent too', async (_which, isRead) => {
    const { world, engine, source, first } = await runningFirst();
    source.setDerived(first, requesting('other', '1500m'));
    await world.until(() => engine.isReady('other-edge1'));
    await world.pass(2000);
    engine.crash();
    const [sourceOfWeb, unread] = [new ManualSource(), new ManualSource('file', '<unread>')];
    const next = await world.boot({ sources: isRead ? [sourceOfWeb] : [sourceOfWeb, unread] });
    sourceOfWeb.setDerived(revision({ cpu: '1' }), ...(isRead ? [requesting('other', '1500m')] : []));
    await world.until(() => next.messages('ResizeDeferred').length === 1);
    await world.pass(60_000);
    expect(next.pod('web-edge1')?.waitingUpdate?.reason).toBe('OutOfcpu');
    expect(memoryLimits(world)).toEqual([]);
    sourceOfWeb.setDerived(revision({ cpu: '1' }));
    unread.setDerived();
    await world.until(() => isUpdated(next));
    expect(memoryLimits(world)).toEqual([64n * MiB]);
  });

  test('is applied to one of two pods that do not fit together', async () => {
    const { world, engine, source } = await runningFirst(requesting('web', '500m'));
    const pods = (web: string, other: string): Pod[] => [requesting('web', web), requesting('other', other)];
    source.setDerived(...pods('500m', '500m'));
    await world.until(() => engine.isReady('other-edge1'));
    source.setDerived(...pods('1200m', '1200m'));
    await world.until(() => engine.messages('ResizeCompleted').length > 0);
    await world.pass(30_000);
    expect(['web-edge1', 'other-edge1'].map((name) => engine.pod(name)?.waitingUpdate?.reason)).toEqual([
      undefined,
      'OutOfcpu',
    ]);
    expect(engine.messages('ResizeCompleted')).toHaveLength(1);
  });

  test('makes room in the same list for another one, in any order', async () => {
    const { world, engine, source } = await runningFirst(requesting('web', '500m'));
    const pods = (web: string, other: string): Pod[] => [requesting('web', web), requesting('other', other)];
    source.setDerived(...pods('500m', '1500m'));
    await world.until(() => engine.isReady('other-edge1'));
    source.setDerived(...pods('1500m', '500m'));
    await world.until(() => engine.messages('ResizeCompleted').length === 2);
    expect(engine.messages('ResizeDeferred')).toEqual([]);
  });

  test('that the runtime refuses is tried again, and the pod runs on', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.injectError('updateContainerResources', new Refusal(codes.unknown, 'device or resource busy'), {
      times: 2,
    });
    source.setDerived(revision({ memory: '32Mi' }));
    await world.until(() => engine.messages('ResizeError').length === 2);
    expect(engine.messages('ResizeError')[0]).toContain('Resizing main in place failed: ');
    const [[type, reason, message = ''] = []] = resizeConditions(engine);
    expect([type, reason]).toEqual(['PodResizeInProgress', 'Error']);
    expect(message).toContain('device or resource busy');
    expect(isUpdated(engine)).toBe(false);
    await world.until(() => isUpdated(engine));
    expect(memoryLimits(world)).toEqual([32n * MiB, 32n * MiB, 32n * MiB]);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0', 'web-edge1/side#0']);
  });

  test('that the runtime cannot carry out restarts the container', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.injectError('updateContainerResources', new Refusal(codes.unimplemented, 'unknown method'), {
      times: Infinity,
    });
    source.setDerived(revision({ memory: '128Mi' }));
    await world.until(() => isUpdated(engine));
    expect(world.runtime.running()).toEqual(['web-edge1/main#1', 'web-edge1/side#0']);
  });

  test('that is taken back while the runtime hangs ends with the first resources', async () => {
    const { world, engine, source } = await runningFirst();
    const release = world.runtime.hang('updateContainerResources');
    source.setDerived(revision({ memory: '128Mi' }));
    await world.runtime.waitForCall('updateContainerResources');
    source.setDerived(revision());
    await engine.kubelet.settled();
    expect(isUpdated(engine)).toBe(false);
    release();
    await world.until(() => isUpdated(engine));
    expect(memoryLimits(world).at(-1)).toBe(64n * MiB);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0', 'web-edge1/side#0']);
  });

  test('does not hold up the end of its pod while the runtime hangs', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.hang('updateContainerResources');
    source.setDerived(revision({ memory: '128Mi' }));
    await world.runtime.waitForCall('updateContainerResources');
    source.setDerived();
    await world.until(async () => (await world.inventory()).length === 0);
    expect(engine.kubelet.snapshot().pods).toEqual([]);
  });

  test('is applied to a pod with its own UID too', async () => {
    const { world, engine, source } = await runningFirst();
    source.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    source.set(revision({ uid: 'own' }));
    await world.until(() => engine.isReady('web-edge1'));
    source.set(revision({ uid: 'own', memory: '128Mi' }));
    await world.until(() => isUpdated(engine));
    expect(memoryLimits(world)).toEqual([128n * MiB]);
    source.set(revision({ uid: 'other', memory: '256Mi' }));
    await world.until(() => isUpdated(engine));
    expect(uids(engine)).toEqual(['other']);
  });
});

describe('a change of an image', () => {
  test('restarts that container alone, after its image was pulled', async () => {
    const { world, engine, source, first } = await runningFirst();
    source.setDerived(revision({ image: 'app:2' }));
    await world.until(() => isUpdated(engine));
    expect(changes(world)).toEqual(['pullImage', 'stopContainer', 'createContainer', 'startContainer']);
    expect(world.runtime.running()).toEqual(['web-edge1/main#1', 'web-edge1/side#0']);
    expect(uids(engine)).toEqual([first.metadata.uid]);
    expect(engine.messages('UpdatedInPlace')).toEqual(['Updated in place, only main restarts: image of main']);
  });

  test('whose image cannot be had leaves the container running, and says so', async () => {
    const { world, engine, source, first } = await runningFirst();
    world.runtime.injectError('pullImage', new Refusal(codes.notFound, 'no such image'), { times: Infinity });
    source.setDerived(revision({ image: 'typo:2' }));
    await world.until(() => engine.pod('web-edge1')?.waitingUpdate?.reason === 'ImagePullBackOff');
    expect(engine.messages('ReplacementWaits')[0]).toBe(
      'No image for main: the previous revision keeps running until then',
    );
    expect(isUpdated(engine)).toBe(false);
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
    source.setDerived(revision());
    await world.until(() => isUpdated(engine));
    expect(engine.pod('web-edge1')?.waitingUpdate).toBeUndefined();
    await world.pass(60_000);
    expect(world.runtime.running()).toEqual(['web-edge1/main#1', 'web-edge1/side#0']);
    expect(uids(engine)).toEqual([first.metadata.uid]);
  });

  test('starts a container that waits for its back-off at once', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.script('main', { exitAfterMs: 100, exitCode: 1 });
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.until(() => engine.waitingReason('web-edge1') === 'CrashLoopBackOff');
    await world.pass(200_000);
    await world.until(() => engine.waitingReason('web-edge1') === 'CrashLoopBackOff');
    world.runtime.script('main', {});
    world.runtime.addImage('app:2');
    const at = world.clock.monotonic();
    source.setDerived(revision({ image: 'app:2' }));
    await world.until(() => isUpdated(engine) && engine.isReady('web-edge1'));
    expect(world.clock.monotonic() - at).toBeLessThan(2000);
    expect(world.runtime.requestsOf('runPodSandbox')).toHaveLength(1);
  });

  test('the last of many quick edits wins', async () => {
    const { world, engine, source, first } = await runningFirst();
    for (const image of ['app:2', 'app:3', 'app:4']) source.setDerived(revision({ image, memory: '128Mi' }));
    source.setDerived(revision({ image: 'app:5', memory: '256Mi' }));
    await world.until(() => isUpdated(engine));
    expect(world.runtime.running()).toEqual(['web-edge1/main#1', 'web-edge1/side#0']);
    const { config } = world.runtime.requestsOf('createContainer').at(-1) ?? {};
    expect(config?.image?.userSpecifiedImage).toBe('app:5');
    expect(config?.linux?.resources?.memoryLimitInBytes).toBe(256n * MiB);
    expect(uids(engine)).toEqual([first.metadata.uid]);
  });
});

describe('a change replaces the pod', () => {
  const optOut = { 'kubelet-ts.io/in-place': 'false' };
  test.each<[string, Pod, Pod, boolean]>([
    [
      'if its annotation says so',
      revision({ annotations: optOut }),
      revision({ annotations: optOut, memory: '1Mi' }),
      true,
    ],
    ['with --in-place=false', revision(), revision({ memory: '128Mi' }), false],
    ['if another field changed too', revision(), revision({ memory: '128Mi', spec: { hostname: 'web' } }), true],
  ])('%s', async (_when, first, second, inPlace) => {
    const { world, engine, source } = await runningFirst(first, { inPlace });
    source.setDerived(second);
    await world.until(() => isUpdated(engine));
    expect(uids(engine)).toEqual([second.metadata.uid]);
    expect(world.runtime.requestsOf('runPodSandbox')).toHaveLength(2);
  });

  test('that was changed in place before, and back', async () => {
    const { world, engine, source, first } = await runningFirst();
    source.setDerived(revision({ memory: '128Mi' }));
    await world.until(() => isUpdated(engine));
    const renamed = revision({ memory: '128Mi', spec: { hostname: 'web' } });
    source.setDerived(renamed);
    await world.until(() => isUpdated(engine));
    expect(uids(engine)).toEqual([renamed.metadata.uid]);
    await world.until(() => engine.isReady('web-edge1'));
    await world.pass(5000);
    source.setDerived(first);
    await world.until(() => isUpdated(engine) && engine.isReady('web-edge1'));
    expect(uids(engine)).toEqual([first.metadata.uid]);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0', 'web-edge1/side#0']);
  });
});

describe('over the end of the agent', () => {
  const second = revision({ image: 'app:2', memory: '128Mi' });

  async function bootAgain({ world }: Running, declared: Pod): Promise<Engine> {
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.setDerived(declared);
    await world.until(() => isUpdated(engine) && engine.isReady('web-edge1'));
    return engine;
  }

  test('a pod that was changed in place stays as it is', async () => {
    const running = await runningFirst();
    const { world, engine, source, first } = running;
    source.setDerived(second);
    await world.until(() => isUpdated(engine));
    await world.pass(2000);
    const before = changes(world).length;
    engine.crash();
    const again = await bootAgain(running, second);
    await world.pass(60_000);
    expect(changes(world).slice(before)).toEqual([]);
    expect(uids(again)).toEqual([first.metadata.uid]);
  });

  test('a change while no agent ran is applied in place', async () => {
    const running = await runningFirst();
    running.engine.crash();
    const again = await bootAgain(running, second);
    expect(changes(running.world)).toEqual(['pullImage', 'stopContainer', 'createContainer', 'startContainer']);
    expect(uids(again)).toEqual([running.first.metadata.uid]);
  });

  test('a resize while no agent ran is applied without a restart', async () => {
    const running = await runningFirst();
    await running.engine.kill();
    await bootAgain(running, revision({ memory: '128Mi' }));
    expect(changes(running.world)).toEqual(['updateContainerResources']);
    expect(memoryLimits(running.world)).toEqual([128n * MiB]);
  });

  test('a change while no agent ran replaces the pod if its revision is unknown', async () => {
    const running = await runningFirst();
    const { world, engine, first } = running;
    engine.crash();
    await rm(join(world.rootDir, 'pods', first.metadata.uid, 'revision.json'));
    const again = await bootAgain(running, second);
    expect(uids(again)).toEqual([second.metadata.uid]);
  });

  test.each([
    'updateContainerResources',
    'imageStatus',
    'pullImage',
    'stopContainer',
    'createContainer',
    'startContainer',
  ] as const)('a kill at %s changes neither the pod nor the result', async (method) => {
    const running = await runningFirst();
    const { world, engine, source, first } = running;
    const isResize = method === 'updateContainerResources';
    const next = isResize ? revision({ memory: '128Mi' }) : second;
    const release = world.runtime.hang(method);
    source.setDerived(next);
    await world.runtime.waitForCall(method);
    engine.crash();
    release();
    const again = await bootAgain(running, next);
    await world.pass(60_000);
    expect(uids(again)).toEqual([first.metadata.uid]);
    expect(world.runtime.requestsOf('runPodSandbox')).toHaveLength(1);
    const names = world.runtime.running().map((name) => name.replace(/#.*/, ''));
    expect(names).toEqual(['web-edge1/main', 'web-edge1/side']);
    expect(world.runtime.running().includes('web-edge1/main#0')).toBe(isResize);
    expect(world.runtime.running()).toContain('web-edge1/side#0');
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
    if (isResize) expect(memoryLimits(world).at(-1)).toBe(128n * MiB);
  });

  test('a kill in the middle of a change that is taken back meanwhile ends with the first resources', async () => {
    const running = await runningFirst();
    const { world, engine, source, first } = running;
    const release = world.runtime.hang('updateContainerResources');
    source.setDerived(revision({ memory: '128Mi' }));
    await world.runtime.waitForCall('updateContainerResources');
    engine.crash();
    release();
    await bootAgain(running, first);
    expect(memoryLimits(world).at(-1)).toBe(64n * MiB);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0', 'web-edge1/side#0']);
  });
});
