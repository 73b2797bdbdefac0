import { describe, expect, test } from 'vitest';
import type { Pod, PodSpec } from '../../src/api/types.ts';
import type { ShutdownSettings } from '../../src/engine/lifecycle/node-shutdown-groups.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { podAfter } from '../builders/pod-after.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const settings: ShutdownSettings = {
  shutdownGracePeriodSeconds: 30,
  shutdownGracePeriodCriticalPodsSeconds: 10,
  byPodPriority: [],
};

interface Node {
  world: World;
  engine: Engine;
  source: ManualSource;
}

async function bootedNode(...pods: Pod[]): Promise<Node> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await boot(world, source);
  source.set(...pods);
  await world.until(() => pods.every(({ metadata }) => engine.isReady(metadata.name)));
  return { world, engine, source };
}

const boot = (world: World, source: ManualSource): Promise<Engine> =>
  world.boot({ sources: [source], node: makeNodeConfig(world.folder, { shutdown: settings }) });

/** A pod that stops slowly, with a grace period of 60 seconds. */
const pod = (name: string, dependsOn = '', spec: Partial<PodSpec> = {}): Pod =>
  podAfter(name, dependsOn, {
    spec: { terminationGracePeriodSeconds: 60, containers: [{ name, image: 'registry.example/app:1' }], ...spec },
  });

/** Lets time pass until the pods are shut down. Resolves to the milliseconds of the shutdown. */
async function shutDown({ world, engine }: Node): Promise<number> {
  const startedAt = world.clock.monotonic();
  let isDone = false;
  const done = engine.kubelet.shutDownPods().then(() => {
    isDone = true;
  });
  await world.until(() => isDone);
  await done;
  return world.clock.monotonic() - startedAt;
}

/** Timeouts of the StopContainer calls in seconds, in order. */
const stops = ({ runtime }: World): number[] =>
  runtime.requestsOf('stopContainer').map(({ timeout }) => Number(timeout));

const statusOf = ({ engine }: Node, name: string): object => {
  const { phase, reason, message } = engine.pod(`${name}-edge1`)?.pod.status ?? {};
  return { phase, reason, message };
};

const killed = ({ engine }: Node): string[] =>
  engine.events.events.flatMap((event) =>
    event.type === 'Recorded' && event.reason === 'Killing' ? [event.containerName ?? ''] : [],
  );

const terminated = {
  phase: 'Failed',
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
};

describe('a node that shuts down', () => {
  test('ends its pods, those that others depend on after these, critical ones last', async () => {
    const critical = { priority: 2_000_001_000, priorityClassName: 'system-node-critical' };
    const node = await bootedNode(
      pod('kube-proxy', '', { priorityClassName: 'system-node-critical' }),
      pod('etcd', '', critical),
      pod('apiserver', 'etcd', critical),
      pod('db'),
      pod('app', 'db'),
    );
    for (const name of ['kube-proxy', 'etcd', 'apiserver', 'db', 'app']) {
      node.world.runtime.script(name, { stopAfterMs: 1000 });
    }
    const tookMs = await shutDown(node);
    expect(killed(node)).toEqual(['app', 'db', expect.anything(), expect.anything(), 'etcd']);
    expect(killed(node).slice(2, 4).sort()).toEqual(['apiserver', 'kube-proxy']);
    expect(tookMs).toBeLessThan(6000);
    expect(statusOf(node, 'app')).toEqual(terminated);
    expect(statusOf(node, 'etcd')).toEqual(terminated);
    expect(node.engine.pod('app-edge1')?.pod.status?.conditions).toContainEqual({
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
      message: terminated.message,
      lastTransitionTime: expect.any(String) as string,
    });
    expect(node.world.runtime.running()).toEqual([]);
    expect(node.engine.messages('Shutdown')).toEqual(['Shutdown manager detected shutdown event']);
  });

  test('shares the time of a group among its steps', async () => {
    const node = await bootedNode(
      pod('db'),
      pod('app', 'db'),
      pod('short', 'db', { terminationGracePeriodSeconds: 5 }),
    );
    await shutDown(node);
    expect(stops(node.world).toSorted((a, b) => a - b)).toEqual([5, 10, 20]);
  });

  test('is done in its time though the runtime hangs', async () => {
    const node = await bootedNode(pod('db'), pod('app', 'db'));
    const release = node.world.runtime.hang('stopContainer');
    const tookMs = await shutDown(node);
    expect(tookMs).toBeGreaterThanOrEqual(20_000);
    expect(tookMs).toBeLessThan(21_000);
    release();
  });

  test('accepts no more pods, and the stopped ones run again after its next start', async () => {
    const job = pod('job', '', { restartPolicy: 'Never' });
    const node = await bootedNode(pod('app'), job);
    await shutDown(node);
    node.source.set(pod('app'), job, pod('late'));
    await node.world.until(() => node.engine.phase('late-edge1') === 'Failed');
    await node.world.pass(10_000);
    expect(statusOf(node, 'late')).toEqual({
      phase: 'Failed',
      reason: 'NodeShutdown',
      message:
        'Pod was rejected: Pod was rejected as the node is shutting down. The agent tries again as soon as the node accepts pods again.',
    });
    expect(node.world.runtime.running()).toEqual([]);
    await node.engine.kill();

    const source = new ManualSource();
    const next = await boot(node.world, source);
    source.set(pod('app'), job, pod('late'));
    await node.world.until(() => next.isReady('app-edge1') && next.isReady('late-edge1'));
    await node.world.pass(10_000);
    expect(next.pod('app-edge1')?.pod.status).not.toHaveProperty('reason');
    expect(next.phase('job-edge1')).toBe('Failed');
    expect(node.world.runtime.running()).toEqual(['app-edge1/app#1', 'late-edge1/late#0']);
  });

  test('runs everything again when the shutdown is cancelled', async () => {
    const node = await bootedNode(pod('app'), pod('job', '', { restartPolicy: 'Never' }));
    await shutDown(node);
    node.source.set(pod('app'), pod('job', '', { restartPolicy: 'Never' }), pod('late'));
    await node.world.until(() => node.engine.phase('late-edge1') === 'Failed');
    node.engine.kubelet.cancelShutdown();
    await node.world.until(() => node.engine.isReady('app-edge1') && node.engine.isReady('late-edge1'));
    expect(statusOf(node, 'job')).toEqual(terminated);
    expect(node.world.runtime.running()).toEqual(['app-edge1/app#1', 'late-edge1/late#0']);
  });

  test('continues with those that it did not stop yet when the shutdown is cancelled midway', async () => {
    const node = await bootedNode(pod('db'), pod('app', 'db'));
    node.world.runtime.script('app', { stopAfterMs: 5000 });
    let isDone = false;
    const done = node.engine.kubelet.shutDownPods().then(() => {
      isDone = true;
    });
    await node.world.until(() => killed(node).length > 0);
    node.engine.kubelet.cancelShutdown();
    await node.world.until(() => isDone);
    await done;
    await node.world.until(() => node.world.runtime.running().length === 2 && node.engine.isReady('app-edge1'));
    expect(killed(node)).toEqual(['app']);
  });
});
