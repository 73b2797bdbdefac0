import { describe, expect, test } from 'vitest';
import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import type { Pod, PodSpec } from '../../src/api/types.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'registry.example/app:1';

/** A pod with one container that requests this much CPU. The node has 2. */
function wanting(name: string, cpu: string, spec: Partial<PodSpec> = {}): Pod {
  return makeStaticPod(name, {
    uid: name,
    spec: { containers: [{ name: 'main', image, resources: { requests: { cpu } } }], ...spec },
  });
}

function onPort(name: string, hostPort: number): Pod {
  return makeStaticPod(name, {
    uid: name,
    spec: { containers: [{ name: 'main', image, ports: [{ containerPort: 80, hostPort }] }] },
  });
}

async function bootedNode(): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  return { world, engine, source };
}

function statusOf(engine: Engine, name: string): object {
  const { phase, reason, message } = engine.pod(`${name}-edge1`)?.pod.status ?? {};
  return { phase, reason, message };
}

const noRoom = (requested: number, used: number): string =>
  'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to ' +
  'preempt: no set of running pods found to reclaim resources: ' +
  `[(res: cpu, q: ${requested - (2000 - used)}), ]: ` +
  `Node didn't have enough resource: cpu, requested: ${requested}, used: ${used}, capacity: 2000 ` +
  `(it requests ${requested / 1000} cpu, and other pods hold ${used / 1000} of the 2 of this node)`;

describe('a pod for which the node has no room', () => {
  test('is Failed with the reason of the kubelet, and says that it will be tried again', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(wanting('first', '1500m'), wanting('second', '1'));
    await world.until(() => engine.isReady('first-edge1'));
    expect(statusOf(engine, 'second')).toEqual({
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message: `Pod was rejected: ${noRoom(1000, 1500)}. The agent tries again as soon as a pod stops.`,
    });
    expect(engine.messages('UnexpectedAdmissionError')).toEqual([noRoom(1000, 1500)]);
    await world.pass(10_000);
    expect(world.runtime.running()).toEqual(['first-edge1/main#0']);
    expect(engine.messages('UnexpectedAdmissionError')).toHaveLength(1);
  });

  test('starts as soon as another pod ended, and not before', async () => {
    const { world, engine, source } = await bootedNode();
    world.runtime.script('main', { stopAfterMs: 5000 });
    source.set(wanting('first', '1500m'), wanting('second', '1'));
    await world.until(() => engine.isReady('first-edge1') && engine.phase('second-edge1') === 'Failed');
    source.set(wanting('second', '1'));
    await world.until(() => engine.isReady('second-edge1'));
    const ended = engine.events.events.find(
      (event) => event.type === 'WorkerStateChanged' && event.state === 'terminated',
    );
    const [, run] = world.runtime.calls.filter(({ method }) => method === 'runPodSandbox');
    const waitedMs = (run?.at ?? 0) - (ended?.at ?? 0);
    expect(waitedMs).toBeGreaterThanOrEqual(0);
    expect(waitedMs).toBeLessThan(1000);
    expect(engine.phase('second-edge1')).toBe('Running');
  });

  test('starts when a pod completed by itself', async () => {
    const { world, engine, source } = await bootedNode();
    world.runtime.script('main', { exitAfterMs: 3000 });
    source.set(
      wanting('first', '1500m', { restartPolicy: 'Never' }),
      wanting('second', '1', { restartPolicy: 'Never' }),
    );
    await world.until(
      () => engine.phase('first-edge1') === 'Succeeded' && engine.phase('second-edge1') === 'Succeeded',
    );
    expect(world.runtime.requestsOf('runPodSandbox').map(({ config }) => config?.metadata?.name)).toEqual([
      'first-edge1',
      'second-edge1',
    ]);
  });

  test('that no node of this size has waits for another manifest', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(wanting('large', '3'), wanting('small', '1'));
    await world.until(() => engine.isReady('small-edge1'));
    expect(statusOf(engine, 'large')).toMatchObject({
      message: `Pod was rejected: ${noRoom(3000, 0)}. The agent tries again as soon as its manifest changes.`,
    });
    source.set(wanting('large', '1'), wanting('small', '1'));
    await world.until(() => engine.isReady('large-edge1'));
  });

  test('is one pod too many', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const node = makeNodeConfig(world.folder, { allocatable: { cpu: '2', memory: '1Gi', pods: '1' } });
    const engine = await world.boot({ sources: [source], node });
    source.set(makeStaticPod('first', { uid: 'first' }), makeStaticPod('second', { uid: 'second' }));
    await world.until(() => engine.isReady('first-edge1'));
    expect(engine.phase('second-edge1')).toBe('Failed');
    source.set(makeStaticPod('second', { uid: 'second' }));
    await world.until(() => engine.isReady('second-edge1'));
  });
});

describe('a pod whose host port is taken', () => {
  test('starts when the port is free', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(onPort('first', 8080), onPort('second', 8080));
    await world.until(() => engine.isReady('first-edge1'));
    expect(statusOf(engine, 'second')).toMatchObject({
      reason: 'NodePorts',
      message:
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports: host port 8080/TCP is in use by pod default/first-edge1. The agent tries again as soon as a pod stops.",
    });
    source.set(onPort('second', 8080));
    await world.until(() => engine.isReady('second-edge1'));
  });

  test('runs with another port in its manifest', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(onPort('first', 8080), onPort('second', 8080));
    await world.until(() => engine.phase('second-edge1') === 'Failed');
    source.set(onPort('first', 8080), onPort('second', 8081));
    await world.until(() => engine.isReady('second-edge1'));
    expect(engine.events.sequence('second-edge1').filter((name) => name === 'PodUpdated')).toHaveLength(1);
  });
});

describe('a pod that was not admitted', () => {
  test('never runs, whatever its labels promise', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(wanting('web', '1', { nodeSelector: { disk: 'ssd' } }));
    await world.until(() => engine.phase('web-edge1') === 'Failed');
    await world.pass(130_000);
    expect(await world.inventory()).toEqual([]);
    expect(engine.messages('NodeAffinity')).toEqual([
      "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector: nodeSelector wants the label disk=ssd, and this node has none of that name",
    ]);
  });

  test('is dropped with its manifest', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(wanting('web', '3'));
    await world.until(() => engine.phase('web-edge1') === 'Failed');
    source.set();
    await world.until(() => engine.pod('web-edge1') === undefined);
    expect(await world.inventory()).toEqual([]);
  });
});

describe('a pod of higher priority', () => {
  const low = wanting('low', '1500m', { priority: 1 });
  const high = wanting('high', '1', { priority: 5 });

  test('takes the place of one of lower priority, which comes back when there is room again', async () => {
    const { world, engine, source } = await bootedNode();
    world.runtime.script('main', { stopAfterMs: 5000 });
    source.set(low);
    await world.until(() => engine.isReady('low-edge1'));
    source.set(low, high);
    await world.until(() => engine.messages('Preempting').length > 0);
    await world.until(() => engine.phase('low-edge1') === 'Failed');
    expect(engine.pod('low-edge1')?.pod.status).toMatchObject({
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    });
    expect(engine.pod('low-edge1')?.pod.status?.conditions).toContainEqual({
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
      message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
      lastTransitionTime: expect.any(String) as string,
    });
    expect(world.runtime.running()).toEqual(['low-edge1/main#0']);
    await world.until(() => engine.isReady('high-edge1'));
    expect(world.runtime.running()).toEqual(['high-edge1/main#0']);
    await world.until(() => engine.pod('low-edge1')?.pod.status?.reason === 'UnexpectedAdmissionError');
    source.set(low);
    await world.until(() => engine.isReady('low-edge1'));
  });
});

test('room that was made for a pod is not taken by a raise in place that waits', async () => {
  const { world, engine, source } = await bootedNode();
  const [low, other] = [wanting('low', '1', { priority: 1 }), wanting('other', '400m', { priority: 1 })];
  source.set(low, other, wanting('web', '500m', { priority: 1 }));
  await world.until(() => ['low-edge1', 'other-edge1', 'web-edge1'].every((name) => engine.isReady(name)));
  const raised = wanting('web', '1200m', { priority: 1 });
  source.set(low, other, raised);
  await world.until(() => engine.messages('ResizeDeferred').length > 0);
  source.set(low, other, raised, wanting('high', '1', { priority: 5 }));
  await world.until(() => engine.isReady('high-edge1'));
  await world.pass(30_000);
  expect({
    preemptions: engine.messages('Preempting').length,
    running: world.runtime.running().toSorted(),
    update: engine.pod('web-edge1')?.waitingUpdate?.reason,
  }).toEqual({
    preemptions: 1,
    running: ['high-edge1/main#0', 'other-edge1/main#0', 'web-edge1/main#0'],
    update: 'OutOfcpu',
  });
});

describe('a pod that would preempt what it waits for', () => {
  test.each([
    ['directly', 'server'],
    ['through another one', 'proxy'],
  ])('%s is refused, and starts once it fits', async (_how, dependsOn) => {
    const { world, engine, source } = await bootedNode();
    const after = (pod: Pod, others: string): Pod => ({
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [dependsOnAnnotation]: others } },
    });
    const server = wanting('server', '1500m', { priority: 1 });
    const proxy = after(wanting('proxy', '100m', { priority: 9 }), 'server');
    const client = after(wanting('client', '1', { priority: 5 }), dependsOn);
    source.set(server, proxy, client);
    await world.until(() => engine.phase('client-edge1') === 'Failed');
    await world.pass(10_000);
    expect(statusOf(engine, 'client')).toEqual({
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message:
        `Pod was rejected: ${noRoom(1000, 1600)}. ` +
        'It would have to stop default/server-edge1, which it waits for. The agent tries again as soon as a pod stops.',
    });
    expect(engine.messages('Preempting')).toEqual([]);
    expect(world.runtime.running()).toEqual(['proxy-edge1/main#0', 'server-edge1/main#0']);
    source.set(server, proxy, after(wanting('client', '400m', { priority: 5 }), dependsOn));
    await world.until(() => engine.isReady('client-edge1'));
  });
});

describe('an engine that starts again', () => {
  test('does not judge pods that run, and counts them before others', async () => {
    const world = await World.make();
    const source = new ManualSource();
    const first = await world.boot({ sources: [source] });
    source.set(wanting('running', '1500m'));
    await world.until(() => first.isReady('running-edge1'));
    await first.kill();
    const again = new ManualSource();
    const node = makeNodeConfig(world.folder, { allocatable: { cpu: '1', memory: '1Gi', pods: '110' } });
    const second = await world.boot({ sources: [again], node });
    again.set(wanting('another', '1'), wanting('running', '1500m'));
    await world.until(() => second.isReady('running-edge1') && second.phase('another-edge1') === 'Failed');
    expect(world.runtime.running()).toEqual(['running-edge1/main#0']);
    expect(world.runtime.requestsOf('createContainer')).toHaveLength(1);
  });
});
