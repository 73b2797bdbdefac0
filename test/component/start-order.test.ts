import { describe, expect, test } from 'vitest';
import type { PodSpec } from '../../src/api/types.ts';
import { podAfter } from '../builders/pod-after.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

async function bootedNode(): Promise<{ world: World; engine: Engine; source: ManualSource }> {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  return { world, engine, source };
}

/** One container whose readiness is the result of `scriptExec` for its name. */
const probed = (name: string): Partial<PodSpec> => ({
  containers: [
    {
      name,
      image: 'registry.example/app:1',
      readinessProbe: { exec: { command: ['ready'] }, periodSeconds: 1, failureThreshold: 1 },
    },
  ],
});

const statusOf = (engine: Engine, name: string): object => {
  const { phase, reason, message } = engine.pod(`${name}-edge1`)?.pod.status ?? {};
  return { phase, reason, message };
};

const waitingFor = (what: string): object => ({
  phase: 'Pending',
  reason: 'WaitingForPods',
  message: `Waiting for ${what}`,
});

/** Pods in the order of the creation of their sandboxes. */
const started = ({ runtime }: World): (string | undefined)[] =>
  runtime.requestsOf('runPodSandbox').map(({ config }) => config?.metadata?.name);

describe('a pod that comes after another one', () => {
  test('gets no sandbox before that is Ready, and starts on the status change, without polling', async () => {
    const { world, engine, source } = await bootedNode();
    let isReady = false;
    world.runtime.scriptExec(() => ({ exitCode: isReady ? 0 : 1 }));
    source.set(podAfter('app', 'etcd'), podAfter('etcd', '', { spec: probed('etcd') }));
    await world.until(() => engine.phase('etcd-edge1') === 'Running');
    await world.pass(120_000);
    expect(started(world)).toEqual(['etcd-edge1']);
    expect(statusOf(engine, 'app')).toEqual(waitingFor('etcd to be Ready'));
    expect(engine.pod('app-edge1')?.worker.state).toBe('waiting');
    expect(engine.messages('WaitingForPods')).toEqual(['Waiting for etcd to be Ready']);

    isReady = true;
    await world.until(() => engine.isReady('app-edge1'));
    const readyAt = engine.events.events.find(
      (event) => event.type === 'PodStatusChanged' && event.pod.name === 'etcd-edge1' && event.ready,
    )?.at;
    const [, run] = world.runtime.calls.filter(({ method }) => method === 'runPodSandbox');
    expect((run?.at ?? 0) - (readyAt ?? 0)).toBeLessThan(200);
    expect(engine.messages('WaitingForPods')).toHaveLength(1);
  });

  test('runs on when that is not Ready any more, and is restarted meanwhile', async () => {
    const { world, engine, source } = await bootedNode();
    let isReady = true;
    world.runtime.scriptExec(() => ({ exitCode: isReady ? 0 : 1 }));
    source.set(podAfter('etcd', '', { spec: probed('etcd') }), podAfter('app', 'etcd'));
    await world.until(() => engine.isReady('app-edge1'));
    isReady = false;
    await world.until(() => !engine.isReady('etcd-edge1'));
    world.runtime.exitContainer({ pod: 'app-edge1', container: 'main' }, 1);
    await world.until(() => world.runtime.running().includes('app-edge1/main#1'));
    expect(started(world)).toEqual(['etcd-edge1', 'app-edge1']);
    expect(engine.messages('WaitingForPods')).toEqual(['Waiting for etcd to be Ready']);
  });

  test('is adopted by the next engine, whatever it comes after', async () => {
    const { world, engine, source } = await bootedNode();
    let isReady = true;
    world.runtime.scriptExec(() => ({ exitCode: isReady ? 0 : 1 }));
    const pods = [podAfter('etcd', '', { spec: probed('etcd') }), podAfter('app', 'etcd')];
    source.set(...pods);
    await world.until(() => engine.isReady('app-edge1'));
    await engine.kill();
    isReady = false;
    const again = new ManualSource();
    const next = await world.boot({ sources: [again] });
    again.set(...pods);
    await world.until(() => next.isReady('app-edge1'));
    expect(next.isReady('etcd-edge1')).toBe(false);
    expect(next.messages('WaitingForPods')).toEqual([]);
    expect(world.runtime.running()).toEqual(['app-edge1/main#0', 'etcd-edge1/etcd#0']);
    expect(started(world)).toEqual(['etcd-edge1', 'app-edge1']);
  });

  test('waits again after a reboot', async () => {
    const { world, engine, source } = await bootedNode();
    let isReady = true;
    world.runtime.scriptExec(() => ({ exitCode: isReady ? 0 : 1 }));
    const pods = [podAfter('etcd', '', { spec: probed('etcd') }), podAfter('app', 'etcd')];
    source.set(...pods);
    await world.until(() => engine.isReady('app-edge1'));
    await engine.kill();
    world.runtime.reboot({ forgets: false });
    isReady = false;
    const again = new ManualSource();
    const next = await world.boot({ sources: [again] });
    again.set(...pods);
    await world.until(() => next.phase('etcd-edge1') === 'Running');
    await world.pass(10_000);
    expect(world.runtime.running()).toEqual(['etcd-edge1/etcd#1']);
    expect(next.messages('WaitingForPods')).toEqual(['Waiting for etcd to be Ready']);
    isReady = true;
    await world.until(() => next.isReady('app-edge1'));
    expect(world.runtime.running()).toEqual(['app-edge1/main#1', 'etcd-edge1/etcd#1']);
  });

  test('starts when that completed', async () => {
    const { world, engine, source } = await bootedNode();
    world.runtime.script('migrate', { exitAfterMs: 3000 });
    // The pod is never Ready, so others wait for its end.
    world.runtime.scriptExec(() => ({ exitCode: 1 }));
    const migrate = podAfter('migrate', '', { spec: { restartPolicy: 'Never', ...probed('migrate') } });
    source.set(migrate, podAfter('app', 'migrate'));
    await world.until(() => engine.isReady('app-edge1'));
    expect(engine.phase('migrate-edge1')).toBe('Succeeded');
  });

  test('starts in the order of a chain, whatever that of the manifests is', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(podAfter('c', 'b,a'), podAfter('b', 'a-edge1'), podAfter('a', ''));
    await world.until(() => engine.isReady('c-edge1'));
    expect(started(world)).toEqual(['a-edge1', 'b-edge1', 'c-edge1']);
    expect(engine.messages('WaitingForPods')).toEqual([
      'Waiting for b, a to be Ready',
      'Waiting for a-edge1 to be Ready',
    ]);
  });

  test('waits for one that no manifest declares, and starts when one does', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(podAfter('app', 'kube-system/dns'));
    await world.until(() => engine.pod('app-edge1') !== undefined);
    await world.pass(10_000);
    expect(statusOf(engine, 'app')).toEqual(waitingFor('kube-system/dns, which no manifest declares'));
    expect(started(world)).toEqual([]);
    source.set(podAfter('app', 'kube-system/dns'), podAfter('dns', '', { namespace: 'kube-system' }));
    await world.until(() => engine.isReady('app-edge1'));
    expect(started(world)).toEqual(['dns-edge1', 'app-edge1']);
  });

  test('goes with its manifest while it waits', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(podAfter('app', 'etcd'));
    await world.until(() => engine.phase('app-edge1') === 'Pending');
    source.set(podAfter('etcd', ''));
    await world.until(() => engine.isReady('etcd-edge1') && engine.pod('app-edge1') === undefined);
    expect(started(world)).toEqual(['etcd-edge1']);
  });

  test('starts at once when its new manifest comes after none', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(podAfter('app', 'etcd'));
    await world.until(() => engine.phase('app-edge1') === 'Pending');
    source.set(podAfter('app', ''));
    await world.until(() => engine.isReady('app-edge1'));
  });
});

describe('pods that wait for each other', () => {
  test('are refused with the reason, others run, and they start once a manifest breaks the cycle', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(podAfter('a', 'b'), podAfter('b', 'a'), podAfter('free', ''), podAfter('after', 'a'));
    await world.until(() => engine.isReady('free-edge1'));
    await world.pass(10_000);
    expect(started(world)).toEqual(['free-edge1']);
    expect(statusOf(engine, 'a')).toEqual({
      phase: 'Failed',
      reason: 'StartOrderCycle',
      message:
        'Pod was rejected: default/a waits for default/b, which waits for default/a. The agent tries again as soon as manifests change.',
    });
    expect(statusOf(engine, 'after')).toEqual(waitingFor('a to be Ready'));
    expect(engine.messages('StartOrderCycle')).toEqual([
      'default/a waits for default/b, which waits for default/a',
      'default/b waits for default/a, which waits for default/b',
    ]);

    source.set(podAfter('a', 'b'), podAfter('b', ''), podAfter('free', ''), podAfter('after', 'a'));
    await world.until(() => engine.isReady('after-edge1'));
    expect(started(world)).toEqual(['free-edge1', 'b-edge1', 'a-edge1', 'after-edge1']);
  });

  test('stay when they run already', async () => {
    const { world, engine, source } = await bootedNode();
    source.set(podAfter('a', ''), podAfter('b', 'a'));
    await world.until(() => engine.isReady('b-edge1'));
    source.set(podAfter('a', 'b'), podAfter('b', 'a'));
    await world.until(() => engine.events.sequence('a-edge1').includes('PodUpdated'));
    await world.pass(10_000);
    expect(world.runtime.running()).toEqual(['a-edge1/main#0', 'b-edge1/main#0']);
    await engine.kill();
    const again = new ManualSource();
    const next = await world.boot({ sources: [again] });
    again.set(podAfter('a', 'b'), podAfter('b', 'a'));
    await world.until(() => next.isReady('a-edge1') && next.isReady('b-edge1'));
    expect(started(world)).toEqual(['a-edge1', 'b-edge1']);
  });
});
