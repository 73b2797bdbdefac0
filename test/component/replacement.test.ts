import { describe, expect, test } from 'vitest';
import { defaultFeatureGates, type FeatureGates } from '../../src/api/values/feature-gates.ts';
import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import type { Pod, PodSpec, PodStatus } from '../../src/api/types.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

/** A revision of the pod `web` with this UID and image. */
function revision(uid: string, image: string, imagePullPolicy = 'IfNotPresent'): Pod {
  return makeStaticPod('web', { uid, spec: { containers: [{ name: 'main', image, imagePullPolicy }] } });
}

/** The pod with an image volume that its containers mount. */
function withArt(pod: Pod, pullPolicy: string): Pod {
  const volumes = [{ name: 'art', image: { reference: 'art:1', pullPolicy } }];
  const volumeMounts = [{ name: 'art', mountPath: '/art' }];
  const containers = pod.spec.containers.map((container) => ({ ...container, volumeMounts }));
  return { ...pod, spec: { ...pod.spec, volumes, containers } };
}

/** Boots an engine and waits until the first revision runs. */
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

/** Calls that start the first revision. */
const firstStart = ['runPodSandbox', 'createContainer', 'startContainer'];

/**
 * Calls with an effect after the start of the first revision, in order. Stops of sandboxes are left out, because they
 * are repeated before a removal.
 */
const changes = (world: World): string[] =>
  world.runtime.calls
    .map(({ method }) => method)
    .filter((method) => /^(run|create|start|stopContainer|pull)/.test(method))
    .slice(firstStart.length);

const runningUIDs = (world: World): Promise<string[]> =>
  world.runtime
    .listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } })
    .then(({ containers }) => containers.map(({ labels }) => labels['io.kubernetes.pod.uid'] ?? '').toSorted());

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

  test('is in the snapshot once the engine has settled', async () => {
    const { engine, source } = await runningFirst();
    source.set(revision('second', 'app:2'));
    await engine.kubelet.settled();
    const shown = engine.kubelet.snapshot().pods.map(({ pod, replacedBy }) => [pod.metadata.uid, replacedBy]);
    expect(shown).toEqual([
      ['first', 'second'],
      ['second', undefined],
    ]);
  });

  test('under the same UID leaves its container outdated until the new one is in the status', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.addImage('app:2');
    source.set(revision('first', 'app:2'));
    await engine.kubelet.settled();
    expect(engine.kubelet.snapshot().pods.map(({ outdatedContainers }) => outdatedContainers)).toEqual([['main']]);
    // What `ps` reads needs no comparison of all containers.
    expect(engine.kubelet.snapshot({ brief: true }).pods.map((pod) => 'outdatedContainers' in pod)).toEqual([false]);
    await world.until(() => engine.kubelet.snapshot().pods[0]?.outdatedContainers === undefined);
    expect(world.runtime.running()).toEqual(['web-edge1/main#1']);
    await world.until(() => engine.isReady('web-edge1'));
  });

  test('keeps the pod running and says so if an image volume cannot be pulled', async () => {
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
    expect(engine.kubelet.snapshot().pods.map(({ replacedBy }) => replacedBy)).toEqual(['second', undefined]);
    expect(engine.messages('ReplacementWaits')[0]).toBe(
      'No image for main: the previous revision keeps running until then',
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

  test('takes over a moment later when the runtime did not answer at first', async () => {
    const { world, engine, source } = await runningFirst();
    world.runtime.injectError('imageStatus', new Refusal(codes.unavailable, 'Connection dropped'));
    source.set(revision('second', 'app:1'));
    await world.until(() => engine.messages('ReplacementWaits').length === 1);
    await world.pass(2000);
    expect(await runningUIDs(world)).toEqual(['second']);
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

  test('that is removed before its image is pulled removes the pod too', async () => {
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

  test('replaces a pod at once if its own image cannot be pulled', async () => {
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

  test('restarts only the container whose image changed, if the UID stays', async () => {
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

interface Asks {
  /** The node has 2. */
  cpu?: string;
  hostPort?: number;
  image?: string;
  spec?: Partial<PodSpec>;
}

function asking(name: string, uid: string, asks: Asks): Pod {
  const { cpu = '0', hostPort, image = 'app:1', spec = {} } = asks;
  const ports = hostPort === undefined ? [] : [{ containerPort: 80, hostPort }];
  const main = { name: 'main', image, ports, resources: { requests: { cpu } } };
  return makeStaticPod(name, { uid, spec: { containers: [main], ...spec } });
}

const afterPod = (pod: Pod, others: string): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [dependsOnAnnotation]: others } },
});

/** Boots an engine and waits until these pods run. */
async function running(...pods: Pod[]): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  world.runtime.addImage('app:1');
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(...pods);
  const areReady = (): boolean => pods.every(({ metadata }) => engine.isReady(metadata.name));
  await world.until(areReady);
  return { world, engine, source };
}

const statusOf = (engine: Engine, uid: string): PodStatus | undefined =>
  engine.kubelet.snapshot().pods.find(({ pod }) => pod.metadata.uid === uid)?.pod.status;

const isReady = (engine: Engine, uid: string): boolean =>
  statusOf(engine, uid)?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

const stoppedContainers = (world: World): number => world.runtime.requestsOf('stopContainer').length;

describe('a changed manifest that is not admitted', () => {
  test.each([
    {
      why: 'for want of a label of the node',
      next: asking('web', 'second', { image: 'app:2', spec: { nodeSelector: { disk: 'ssd' } } }),
      reason: 'NodeAffinity',
      message:
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector: " +
        'nodeSelector wants the label disk=ssd, and this node has none of that name; the previous revision keeps running until then. The agent tries again as soon as its manifest changes.',
    },
    {
      why: 'for want of a host port',
      next: asking('web', 'second', { image: 'app:2', hostPort: 80 }),
      reason: 'NodePorts',
      message:
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports: " +
        'host port 80/TCP is in use by pod default/other-edge1; the previous revision keeps running until then. The agent tries again as soon as a pod stops.',
    },
  ])('$why leaves the pod running and cared for, and says so', async ({ next, reason, message }) => {
    const other = asking('other', 'other', { hostPort: 80 });
    const { world, engine, source } = await running(other, asking('web', 'first', {}));
    source.set(other, next);
    await world.until(() => statusOf(engine, 'second')?.phase === 'Failed');
    expect(statusOf(engine, 'second')).toMatchObject({ reason, message });
    expect(engine.messages(reason)).toHaveLength(1);
    world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes('web-edge1/main#1'));
    expect(await runningUIDs(world)).toEqual(['first', 'other']);
    expect(world.runtime.requestsOf('pullImage')).toEqual([]);
  });

  test('as others have the CPU takes over as soon as one of them ended', async () => {
    const other = asking('other', 'other', { cpu: '1' });
    const { world, engine, source } = await running(other, asking('web', 'first', { cpu: '1' }));
    source.set(other, asking('web', 'second', { cpu: '1500m' }));
    await world.until(() => statusOf(engine, 'second')?.phase === 'Failed');
    expect(stoppedContainers(world)).toBe(0);
    source.set(asking('web', 'second', { cpu: '1500m' }));
    await world.until(() => isReady(engine, 'second'));
    expect(await runningUIDs(world)).toEqual(['second']);
    expect(world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
  });

  test('that is put back leaves the pod as it is', async () => {
    const first = asking('web', 'first', {});
    const { world, engine, source } = await running(first);
    source.set(asking('web', 'second', { cpu: '3' }));
    await world.until(() => statusOf(engine, 'second')?.phase === 'Failed');
    source.set(first);
    await world.until(() => engine.kubelet.snapshot().pods.length === 1);
    await world.pass(60_000);
    expect(changes(world)).toEqual([]);
    expect(isReady(engine, 'first')).toBe(true);
  });

  test('that is removed removes the pod too', async () => {
    const { world, engine, source } = await running(asking('web', 'first', {}));
    source.set(asking('web', 'second', { cpu: '3' }));
    await world.until(() => statusOf(engine, 'second')?.phase === 'Failed');
    source.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    expect(await world.inventory()).toEqual([]);
  });

  test('that came while no engine ran stops nothing, and takes over when there is room', async () => {
    const other = asking('other', 'other', { hostPort: 80 });
    const { world, engine } = await running(other, asking('web', 'first', {}));
    await engine.kill();
    const source = new ManualSource();
    const next = await world.boot({ sources: [source] });
    source.set(other, asking('web', 'second', { hostPort: 80 }));
    await world.until(() => statusOf(next, 'second')?.phase === 'Failed');
    await world.pass(10_000);
    expect(await runningUIDs(world)).toEqual(['first', 'other']);
    source.set(asking('web', 'second', { hostPort: 80 }));
    await world.until(() => isReady(next, 'second'));
    expect(await runningUIDs(world)).toEqual(['second']);
  });
});

describe('a changed manifest of a pod that', () => {
  test('has all of the node fits in its place', async () => {
    const { world, engine, source } = await running(asking('web', 'first', { cpu: '2', hostPort: 80 }));
    source.set(asking('web', 'second', { cpu: '1500m', hostPort: 80 }));
    await world.until(() => isReady(engine, 'second'));
    expect(engine.messages('NodePorts')).toEqual([]);
    expect(await runningUIDs(world)).toEqual(['second']);
  });

  test('comes after one that is not there leaves the pod running until it is', async () => {
    const { world, engine, source } = await running(asking('web', 'first', {}));
    const second = afterPod(asking('web', 'second', {}), 'database');
    source.set(second);
    await world.until(() => statusOf(engine, 'second')?.reason === 'WaitingForPods');
    expect(statusOf(engine, 'second')?.message).toBe(
      'Waiting for database, which no manifest declares; the previous revision keeps running until then',
    );
    expect(stoppedContainers(world)).toBe(0);
    source.set(asking('database', 'database', {}), second);
    await world.until(() => isReady(engine, 'second'));
    expect(await runningUIDs(world)).toEqual(['database', 'second']);
  });

  test('would wait for itself through another one leaves the pod running', async () => {
    const database = afterPod(asking('database', 'database', {}), 'web');
    const { world, engine, source } = await running(asking('web', 'first', {}), database);
    source.set(afterPod(asking('web', 'second', {}), 'database'), database);
    await world.until(() => statusOf(engine, 'second')?.reason === 'StartOrderCycle');
    await world.pass(10_000);
    expect(await runningUIDs(world)).toEqual(['database', 'first']);
  });

  test('needs more than there is ends others only when its own revision is being stopped', async () => {
    const other = asking('other', 'other', { cpu: '1', spec: { priority: 1 } });
    const { world, engine, source } = await running(other, asking('web', 'first', { cpu: '1' }));
    refuseEveryPull(world);
    source.set(other, asking('web', 'second', { cpu: '2', image: 'typo:2', spec: { priority: 5 } }));
    await world.until(() => engine.messages('ReplacementWaits').length > 0);
    expect(engine.messages('Preempting')).toEqual([]);
    expect(await runningUIDs(world)).toEqual(['first', 'other']);
  });
});

describe('two pods that exchange their host ports', () => {
  const [webBefore, apiBefore] = [asking('web', 'web1', { hostPort: 80 }), asking('api', 'api1', { hostPort: 81 })];
  const webAfter = asking('web', 'web2', { hostPort: 81 });

  test('are replaced together', async () => {
    const { world, engine, source } = await running(webBefore, apiBefore);
    source.set(webAfter, asking('api', 'api2', { hostPort: 80 }));
    await world.until(() => isReady(engine, 'web2') && isReady(engine, 'api2'));
    expect(await runningUIDs(world)).toEqual(['api2', 'web2']);
    expect(engine.messages('NodePorts')).toEqual([]);
  });

  test('both run on while one of them is not admitted otherwise', async () => {
    const { world, engine, source } = await running(webBefore, apiBefore);
    source.set(webAfter, asking('api', 'api2', { hostPort: 80, cpu: '3' }));
    await world.until(() => [statusOf(engine, 'web2'), statusOf(engine, 'api2')].every((of) => of?.phase === 'Failed'));
    await world.pass(10_000);
    expect(await runningUIDs(world)).toEqual(['api1', 'web1']);
    source.set(webAfter, asking('api', 'api3', { hostPort: 80 }));
    await world.until(() => isReady(engine, 'web2') && isReady(engine, 'api3'));
  });
});
