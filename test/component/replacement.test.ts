import { describe, expect, test } from 'vitest';
import { defaultFeatureGates, type FeatureGates } from '../../src/api/kubelet-configuration/feature-gates.ts';
import type { Pod } from '../../src/api/types.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

/** A revision of the pod `web`, of this UID and image. */
function revision(uid: string, image: string, imagePullPolicy = 'IfNotPresent'): Pod {
  return makeStaticPod('web', { uid, spec: { containers: [{ name: 'main', image, imagePullPolicy }] } });
}

/** With a volume of an image, which its container mounts. */
function withArt(pod: Pod, pullPolicy: string): Pod {
  const volumes = [{ name: 'art', image: { reference: 'art:1', pullPolicy } }];
  const volumeMounts = [{ name: 'art', mountPath: '/art' }];
  const containers = pod.spec.containers.map((container) => ({ ...container, volumeMounts }));
  return { ...pod, spec: { ...pod.spec, volumes, containers } };
}

/** An engine on which the first revision runs. */
async function runningFirst(
  featureGates: Partial<FeatureGates> = {},
): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  world.runtime.addImage('app:1');
  const source = new ManualSource();
  const node = makeNodeConfig(world.folder, { featureGates: { ...defaultFeatureGates, ...featureGates } });
  const engine = await world.boot({ sources: [source], node });
  source.set(revision('first', 'app:1'));
  await world.until(() => engine.isReady('web-edge1'));
  return { world, engine, source };
}

const refuseEveryPull = (world: World): void => {
  world.runtime.injectError('pullImage', new Refusal(codes.notFound, 'no such image'), { times: Infinity });
};

/** Of the first revision. */
const firstStart = ['runPodSandbox', 'createContainer', 'startContainer'];

/** The calls that change something since the first revision runs, in their order. Sandboxes are left out: they are stopped once more when they go. */
const changes = (world: World): string[] =>
  world.runtime.calls
    .map(({ method }) => method)
    .filter((method) => /^(run|create|start|stopContainer|pull)/.test(method))
    .slice(firstStart.length);

const runningUIDs = (world: World): Promise<string[]> =>
  world.runtime
    .listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } })
    .then(({ containers }) => containers.map(({ labels }) => labels['io.kubernetes.pod.uid'] ?? ''));

const secondWaits = (engine: Engine): string | undefined =>
  engine.kubelet.snapshot().pods.find(({ pod }) => pod.metadata.uid === 'second')?.pod.status?.containerStatuses?.[0]
    ?.state?.waiting?.reason;

describe('a changed manifest', () => {
  test('has its images pulled before the pod that runs is stopped', async () => {
    const { world, engine, source } = await runningFirst();
    source.set(revision('second', 'app:2'));
    await world.until(() => engine.kubelet.snapshot().pods.length === 1 && engine.isReady('web-edge1'));
    expect(changes(world)).toEqual([
      'pullImage',
      'stopContainer',
      'runPodSandbox',
      'createContainer',
      'startContainer',
    ]);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });

  test('whose image is always pulled has it pulled once, before the pod that runs is stopped', async () => {
    const { world, engine, source } = await runningFirst();
    source.set(revision('second', 'app:1', 'Always'));
    await world.until(() => engine.kubelet.snapshot().pods.length === 1 && engine.isReady('web-edge1'));
    expect(changes(world)).toEqual([
      'pullImage',
      'stopContainer',
      'runPodSandbox',
      'createContainer',
      'startContainer',
    ]);
  });

  test.each(['IfNotPresent', 'Always'])(
    'has the images of its volumes pulled once, before the pod that runs is stopped, by the policy %s',
    async (pullPolicy) => {
      const { world, engine, source } = await runningFirst({ ImageVolume: true });
      source.set(withArt(revision('second', 'app:1'), pullPolicy));
      await world.until(() => engine.kubelet.snapshot().pods.length === 1 && engine.isReady('web-edge1'));
      expect(world.runtime.requestsOf('pullImage').map(({ image }) => image?.image)).toEqual(['art:1']);
      expect(changes(world).slice(0, 2)).toEqual(['pullImage', 'stopContainer']);
    },
  );

  test('of which the image of a volume cannot be had leaves the pod running, and says so', async () => {
    const { world, engine, source } = await runningFirst({ ImageVolume: true });
    refuseEveryPull(world);
    source.set(withArt(revision('second', 'app:1'), 'IfNotPresent'));
    await world.until(() => engine.messages('ReplacementWaits').length > 0);
    expect(await runningUIDs(world)).toEqual(['first']);
    await world.until(() => secondWaits(engine) === 'ImagePullBackOff');
  });

  test('whose image cannot be had leaves the pod running and cared for, and says so', async () => {
    const { world, engine, source } = await runningFirst();
    refuseEveryPull(world);
    source.set(revision('second', 'typo:2'));
    await world.until(() => engine.messages('ReplacementWaits').length > 0);
    expect(await runningUIDs(world)).toEqual(['first']);
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
    await world.until(() => secondWaits(engine) === 'ImagePullBackOff');
    const phases = engine.kubelet.snapshot().pods.map(({ pod }) => `${pod.metadata.uid} ${pod.status?.phase ?? ''}`);
    expect(phases).toEqual(['first Running', 'second Pending']);
    expect(engine.messages('ReplacementWaits')[0]).toBe(
      'No image for main: the revision before this one runs on until then',
    );
  });

  test('whose image can be had later takes over then', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.injectError('pullImage', new Refusal(codes.unavailable, 'no route to host'), { times: 2 });
    source.set(revision('second', 'app:2'));
    await world.until(async () => (await runningUIDs(world)).includes('second'));
    expect(engine.messages('ReplacementWaits').length).toBeGreaterThanOrEqual(2);
    expect(await runningUIDs(world)).toEqual(['second']);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });

  test('that is put back before its image came leaves the pod as it is', async () => {
    const { world, engine, source } = await runningFirst();
    refuseEveryPull(world);
    source.set(revision('second', 'typo:2'));
    await world.until(() => engine.messages('ReplacementWaits').length > 0);
    source.set(revision('first', 'app:1'));
    await world.until(() => engine.kubelet.snapshot().pods.length === 1);
    await world.pass(60_000);
    expect(changes(world).filter((method) => method !== 'pullImage')).toEqual([]);
    expect(world.runtime.running()).toEqual(['web-edge1/main#0']);
    expect(engine.isReady('web-edge1')).toBe(true);
  });

  test('that is corrected before its image came goes straight to the corrected one', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.injectError('pullImage', new Refusal(codes.notFound, 'no such image'), { times: 1 });
    source.set(revision('second', 'typo:2'));
    await world.until(() => engine.messages('ReplacementWaits').length > 0);
    source.set(revision('third', 'app:3'));
    await world.until(() => engine.kubelet.snapshot().pods.length === 1 && engine.isReady('web-edge1'));
    expect(await runningUIDs(world)).toEqual(['third']);
    expect(world.runtime.requestsOf('runPodSandbox').map(({ config }) => config?.metadata?.uid)).toEqual([
      'first',
      'third',
    ]);
  });

  test('that goes before its image came takes the pod along', async () => {
    const { world, engine, source } = await runningFirst();
    refuseEveryPull(world);
    source.set(revision('second', 'typo:2'));
    await world.until(() => engine.messages('ReplacementWaits').length > 0);
    source.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    expect(await world.inventory()).toEqual([]);
  });

  test('starts at once when the pod of its last revision ended meanwhile', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    world.runtime.script('main', { exitAfterMs: 30_000 });
    source.set(makeStaticPod('web', { uid: 'first', spec: { restartPolicy: 'Never' } }));
    await world.until(() => engine.isReady('web-edge1'));
    refuseEveryPull(world);
    source.set(revision('second', 'typo:2'));
    await world.until(() => engine.messages('ReplacementWaits').length > 0);
    await world.until(() => engine.kubelet.snapshot().pods.length === 1);
    expect(engine.kubelet.snapshot().pods.map(({ pod }) => pod.metadata.uid)).toEqual(['second']);
    expect(await runningUIDs(world)).toEqual([]);
  });

  test('of a pod whose own image cannot be had replaces it at once, whatever its own image', async () => {
    const world = await World.make();
    refuseEveryPull(world);
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    source.set(revision('first', 'typo:1'));
    await world.until(() => engine.messages('Failed').length > 0);
    source.set(revision('second', 'typo:2'));
    await world.until(
      () =>
        engine.kubelet
          .snapshot()
          .pods.map(({ pod }) => pod.metadata.uid)
          .join() === 'second',
    );
    expect(engine.messages('ReplacementWaits')).toEqual([]);
  });

  test('that came while no engine ran stops nothing before its images are there', async () => {
    const { world, engine } = await runningFirst();
    await engine.kill();
    world.runtime.injectError('pullImage', new Refusal(codes.notFound, 'no such image'), { times: 1 });
    const source = new ManualSource();
    const next = await world.boot({ sources: [source] });
    source.set(revision('second', 'app:2'));
    await world.until(() => next.messages('ReplacementWaits').length > 0);
    await world.pass(5000);
    expect(await runningUIDs(world)).toEqual(['first']);
    await world.until(async () => (await runningUIDs(world)).includes('second'));
    expect(await runningUIDs(world)).toEqual(['second']);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });

  test('of which nothing but the image of one container changed restarts only that one, when the UID stays', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const engine = await world.boot({ sources: [source] });
    const pod = (image: string): Pod =>
      makeStaticPod('web', {
        uid: 'kept',
        spec: {
          containers: [
            { name: 'main', image },
            { name: 'log', image: 'log:1' },
          ],
        },
      });
    source.set(pod('app:1'));
    await world.until(() => engine.isReady('web-edge1'));
    source.set(pod('app:2'));
    await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
    expect(world.runtime.running().toSorted()).toEqual(['web-edge1/log#0', 'web-edge1/main#1']);
    expect(await world.inventory()).toContain('web-edge1#0 SANDBOX_READY');
    expect(engine.messages('Killing')).toEqual(['Container main definition changed, will be restarted']);
  });
});
