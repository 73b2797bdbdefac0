import { describe, expect, test } from 'vitest';
import { ManualSource } from '../fakes/manual-source.ts';
import type { WorkloadName } from '../../src/api/values/workload.ts';
import type { WorkloadCondition, WorkloadSnapshot } from '../../src/engine/view/snapshot.ts';
import type { WorkloadRequest } from '../../src/engine/workloads/workload-operations.ts';
import { type Engine, World } from './world.ts';

interface Fields {
  name?: string;
  replicas?: number;
  image?: string;
  kind?: string;
  /** Further fields of the spec. */
  spec?: string;
}

/** Why some pods of a workload cannot run. */
const failure = (reason: string, message: string): WorkloadCondition => ({
  type: 'ReplicaFailure',
  status: 'True',
  reason,
  message,
});

/** A workload whose pods are Ready when their probe succeeds. */
function manifest({
  name = 'web',
  replicas = 3,
  image = 'app:1',
  kind = 'Deployment',
  spec = '',
}: Fields = {}): string {
  return `apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${name}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  ${spec}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - name: main
          image: ${image}
          readinessProbe: {exec: {command: [check]}, initialDelaySeconds: 2, periodSeconds: 1}
`;
}

/** What a test changes of the machine. */
interface Machine {
  world: World;
  engine: Engine;
  source: ManualSource;
  /** Images whose probe fails. */
  broken: Set<string>;
}

async function booted(fields: Fields = {}): Promise<Machine> {
  const world = await World.make();
  for (const image of ['app:1', 'app:2', 'app:3']) world.runtime.addImage(image);
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const machine = { world, engine, source, broken: new Set<string>() };
  world.runtime.scriptExec(({ pod }) => ({ exitCode: machine.broken.has(imageOf(machine, pod)) ? 1 : 0 }));
  source.setManifest(manifest(fields));
  return machine;
}

const imageOf = ({ engine }: Machine, name: string): string => engine.pod(name)?.pod.spec.containers[0]?.image ?? '';

/** The pods of the snapshot as `name image`, with `!` unless they are Ready. */
const pods = ({ engine }: Machine): string[] =>
  engine.kubelet
    .snapshot()
    .pods.map(({ pod }) => {
      const name = pod.metadata.name.replace('-edge1', '');
      return `${name} ${pod.spec.containers[0]?.image ?? ''}${engine.isReady(pod.metadata.name) ? '' : '!'}`;
    })
    .toSorted();

/** Lets time pass until the pods are these. Resolves with the least Ready pods and the most pods meanwhile. */
async function until(machine: Machine, ...expected: string[]): Promise<{ ready: number; pods: number }> {
  const extremes = { ready: Infinity, pods: 0 };
  await machine.world.until(() => {
    const now = pods(machine);
    extremes.ready = Math.min(extremes.ready, now.filter((pod) => !pod.endsWith('!')).length);
    extremes.pods = Math.max(extremes.pods, now.length);
    return now.join() === expected.join();
  });
  return extremes;
}

/** Boots the next engine on the same machine. */
async function rebooted(machine: Machine): Promise<Machine> {
  const source = new ManualSource();
  const next = { ...machine, source, engine: await machine.world.boot({ sources: [source] }) };
  next.world.runtime.scriptExec(({ pod }) => ({ exitCode: next.broken.has(imageOf(next, pod)) ? 1 : 0 }));
  return next;
}

const deployment: WorkloadName = { kind: 'Deployment', namespace: 'default', name: 'web' };
const three = ['web app:1', 'web-1 app:1', 'web-2 app:1'];
const threeOfNew = ['web app:2', 'web-1 app:2', 'web-2 app:2'];

describe('a Deployment', () => {
  test('runs its replicas, and keeps the running ones when the count changes', async () => {
    const machine = await booted({ replicas: 1 });
    await until(machine, 'web app:1');
    machine.source.setManifest(manifest({ replicas: 3 }));
    await until(machine, ...three);
    expect(machine.world.runtime.maxConcurrentRunning('web-edge1', 'main')).toBe(1);
    machine.source.setManifest(manifest({ replicas: 0 }));
    await until(machine);
    machine.source.setManifest(manifest({ replicas: 2 }));
    await until(machine, 'web app:1', 'web-1 app:1');
  });

  test.each([
    ['by default', '', 3, 4],
    ['with maxUnavailable', 'strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}', 1, 3],
  ])('updates pod by pod, %s', async (_what, spec, ready, count) => {
    const machine = await booted({ spec });
    await until(machine, ...three);
    machine.source.setManifest(manifest({ image: 'app:2', spec }));
    expect(await until(machine, ...threeOfNew)).toEqual({ ready, pods: count });
  });

  test('with one replica and maxUnavailable 0 is never without a Ready pod', async () => {
    const spec = 'strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}';
    const machine = await booted({ replicas: 1, spec });
    await until(machine, 'web app:1');
    machine.source.setManifest(manifest({ replicas: 1, image: 'app:2', spec }));
    expect(await until(machine, 'web app:2')).toEqual({ ready: 1, pods: 2 });
  });

  test('keeps the others on their revision if the new one does not become Ready, also across a kill', async () => {
    const spec = 'strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n  progressDeadlineSeconds: 60';
    const machine = await booted({ spec });
    await until(machine, ...three);
    machine.broken.add('app:2');
    machine.source.setManifest(manifest({ image: 'app:2', spec }));
    const stuck = ['web app:2!', 'web-1 app:1', 'web-2 app:1'];
    await until(machine, ...stuck);
    await machine.world.pass(120_000);
    expect(pods(machine)).toEqual(stuck);
    expect(machine.engine.pod('web-1-edge1')?.waitingUpdate?.reason).toBe('RollOut');
    expect(machine.engine.kubelet.snapshot().workloads).toMatchObject([
      { desired: 3, current: 3, ready: 2, available: 2, updated: 1 },
    ]);
    expect(machine.engine.kubelet.snapshot().workloads?.[0]?.conditions.map(({ reason }) => reason)).toEqual([
      'MinimumReplicasAvailable',
      'ProgressDeadlineExceeded',
    ]);

    machine.engine.crash();
    const next = await rebooted(machine);
    next.source.setManifest(manifest({ image: 'app:2', spec }));
    await until(next, ...stuck);
    await next.world.pass(60_000);
    expect(pods(next)).toEqual(stuck);

    next.source.setManifest(manifest({ image: 'app:3', spec }));
    const { ready } = await until(next, 'web app:3', 'web-1 app:3', 'web-2 app:3');
    expect(ready).toBe(2);
  });

  test('continues with its update after a kill at any moment', async () => {
    let machine = await booted();
    await until(machine, ...three);
    machine.source.setManifest(manifest({ image: 'app:2' }));
    for (let kills = 0; kills < 6; kills++) {
      await machine.world.pass(1500);
      machine.engine.crash();
      machine = await rebooted(machine);
      machine.source.setManifest(manifest({ image: 'app:2' }));
    }
    await until(machine, ...threeOfNew);
    for (const name of ['web-edge1', 'web-1-edge1', 'web-2-edge1']) {
      expect(machine.world.runtime.maxConcurrentRunning(name, 'main')).toBe(1);
    }
  });
});

describe('a Deployment that recreates its pods', () => {
  const spec = 'strategy: {type: Recreate}';

  test.each([
    ['without a kill', 0],
    ['with a kill at any moment', 6],
  ])('starts none before all earlier ones have stopped, %s', async (_what, kills) => {
    let machine = await booted({ spec });
    machine.world.runtime.script('web-1-edge1/main', { stopAfterMs: 5000 });
    await until(machine, ...three);
    machine.source.setManifest(manifest({ image: 'app:2', spec }));
    for (let killed = 0; killed < kills; killed++) {
      await machine.world.pass(700);
      machine.engine.crash();
      machine = await rebooted(machine);
      machine.source.setManifest(manifest({ image: 'app:2', spec }));
    }
    await until(machine, ...threeOfNew);
    expect(machine.world.runtime.imagesAtOnce()).toEqual(['app:1', 'app:2']);
  });

  test('waits for a pod that a lower count removed', async () => {
    const machine = await booted({ spec });
    machine.world.runtime.script('web-2-edge1/main', { stopAfterMs: 9000 });
    await until(machine, ...three);
    machine.source.setManifest(manifest({ replicas: 2, spec }));
    await machine.world.until(() => machine.engine.pod('web-2-edge1')?.worker.state === 'terminating');
    machine.source.setManifest(manifest({ replicas: 2, image: 'app:2', spec }));
    await until(machine, 'web app:2', 'web-1 app:2');
    expect(machine.world.runtime.imagesAtOnce()).toEqual(['app:1', 'app:2']);
  });

  test('goes back to the earlier revision', async () => {
    const machine = await booted({ spec });
    await until(machine, ...three);
    machine.source.setManifest(manifest({ image: 'app:2', spec }));
    await until(machine, ...threeOfNew);
    await machine.engine.kubelet.operateWorkload({ action: 'undo', workload: deployment });
    await until(machine, ...three);
  });
});

describe('an operator', () => {
  const act = (machine: Machine, request: Omit<WorkloadRequest, 'workload'>): Promise<string> =>
    machine.engine.kubelet.operateWorkload({ workload: deployment, ...request });

  test('scales a workload until its manifest changes the count, also across a kill', async () => {
    const machine = await booted({ replicas: 1 });
    await until(machine, 'web app:1');
    expect(await act(machine, { action: 'scale', replicas: 3 })).toBe('scaled');
    await until(machine, ...three);
    machine.engine.crash();
    const next = await rebooted(machine);
    next.source.setManifest(manifest({ replicas: 1 }));
    await next.world.pass(30_000);
    expect(pods(next)).toEqual(three);
    next.source.setManifest(manifest({ replicas: 2 }));
    await until(next, 'web app:1', 'web-1 app:1');
    next.source.setManifest(manifest({ replicas: 1 }));
    await until(next, 'web app:1');
  });

  test('goes back to the last revision, and forward again', async () => {
    const machine = await booted();
    await until(machine, ...three);
    await expect(act(machine, { action: 'undo' })).rejects.toThrow('Deployment web has no earlier revision');
    machine.broken.add('app:2');
    machine.source.setManifest(manifest({ image: 'app:2' }));
    await until(machine, ...three, 'web-3 app:2!');
    expect(await act(machine, { action: 'undo' })).toBe('rolled back');
    await until(machine, ...three);
    machine.broken.clear();
    machine.source.setManifest(manifest({ image: 'app:3' }));
    await until(machine, 'web app:3', 'web-1 app:3', 'web-2 app:3');
    await act(machine, { action: 'undo' });
    expect((await until(machine, ...three)).ready).toBe(3);
    await act(machine, { action: 'undo' });
    await until(machine, 'web app:3', 'web-1 app:3', 'web-2 app:3');
  });

  test('neither restarts nor undoes a paused rollout, which would change no pod', async () => {
    const machine = await booted();
    await until(machine, ...three);
    await act(machine, { action: 'pause' });
    await expect(act(machine, { action: 'restart' })).rejects.toMatchObject({
      message: 'cannot restart Deployment web, because its rollout is paused',
      hint: 'Continue it first: kubelet-ts rollout resume deployment/web',
    });
    await expect(act(machine, { action: 'undo' })).rejects.toThrow(
      'cannot roll back Deployment web, because its rollout is paused',
    );
  });

  test('keeps the scale and the revision of a workload that moves to another source', async () => {
    const machine = await booted({ replicas: 1 });
    await until(machine, 'web app:1');
    const broken = manifest({ replicas: 1, image: 'app:2' });
    machine.source.setManifest(broken);
    await until(machine, 'web app:2');
    await act(machine, { action: 'undo' });
    await act(machine, { action: 'scale', replicas: 3 });
    await until(machine, ...three);
    machine.engine.crash();
    const [here, there] = [new ManualSource(), new ManualSource('applied')];
    const next = { ...machine, engine: await machine.world.boot({ sources: [here, there] }) };
    here.setManifest('');
    there.setManifest(broken);
    await until(next, ...three);
    const starts = next.world.runtime.requestsOf('createContainer').length;
    here.setManifest(broken);
    there.setManifest('');
    await next.world.pass(30_000);
    expect(pods(next)).toEqual(three);
    expect(next.world.runtime.requestsOf('createContainer')).toHaveLength(starts);
    here.setManifest('');
    await until(next);
    there.setManifest(broken);
    await until(next, ...three);
  });

  test('pauses and resumes an update', async () => {
    const machine = await booted();
    await until(machine, ...three);
    await act(machine, { action: 'pause' });
    machine.source.setManifest(manifest({ image: 'app:2' }));
    await machine.world.pass(30_000);
    expect(pods(machine)).toEqual(three);
    await act(machine, { action: 'resume' });
    await until(machine, ...threeOfNew);
  });

  test('replaces all pods, as an update does', async () => {
    const machine = await booted();
    await until(machine, ...three);
    const uids = (): string[] => machine.engine.kubelet.snapshot().pods.map(({ pod }) => pod.metadata.uid);
    const before = new Set(uids());
    await act(machine, { action: 'restart' });
    await machine.world.until(() => !uids().some((uid) => before.has(uid)));
    expect((await until(machine, ...three)).ready).toBeGreaterThanOrEqual(3);
  });
});

test('a StatefulSet creates its pods in order with their claims, and updates the last one first', async () => {
  const spec = `volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}`;
  const machine = await booted({ kind: 'StatefulSet', spec });
  await until(machine, 'web-0 app:1!');
  await until(machine, 'web-0 app:1', 'web-1 app:1!');
  await until(machine, 'web-0 app:1', 'web-1 app:1', 'web-2 app:1');
  const claims = machine.engine.kubelet
    .snapshot()
    .pods.map(({ pod }) => pod.spec.volumes?.map((volume) => volume.persistentVolumeClaim?.claimName));
  expect(claims).toEqual([['data-web-0'], ['data-web-1'], ['data-web-2']]);
  machine.source.setManifest(manifest({ kind: 'StatefulSet', spec, image: 'app:2' }));
  await until(machine, 'web-0 app:1', 'web-1 app:1', 'web-2 app:2!');
  await until(machine, 'web-0 app:1', 'web-1 app:2!', 'web-2 app:2');
  await until(machine, 'web-0 app:2', 'web-1 app:2', 'web-2 app:2');
  const { kind, namespace, name } = { ...deployment, kind: 'StatefulSet' as const };
  await machine.engine.kubelet.operateWorkload({ action: 'scale', workload: { kind, namespace, name }, replicas: 4 });
  await until(machine, 'web-0 app:2', 'web-1 app:2', 'web-2 app:2', 'web-3 app:2');
  machine.source.setManifest(manifest({ kind: 'StatefulSet', spec, image: 'app:2', replicas: 1 }));
  await until(machine, 'web-0 app:2');
});

test('a StatefulSet removes the next pod once nothing is left of the one that an earlier agent ran', async () => {
  const fields = { kind: 'StatefulSet', replicas: 2 };
  const machine = await booted(fields);
  await until(machine, 'web-0 app:1', 'web-1 app:1');
  // Its rollout is over, so that no deadline makes it look again.
  for (const ms of [350_000, 350_000]) await machine.world.pass(ms);
  machine.engine.crash();
  const next = await rebooted(machine);
  const goOn = next.world.runtime.hang('removePodSandbox');
  next.source.setManifest(manifest({ ...fields, replicas: 0 }));
  await next.world.until(() => next.world.runtime.requestsOf('removePodSandbox').length === 1);
  await next.world.pass(30_000);
  expect(pods(next)).toEqual(['web-0 app:1']);
  goOn();
  await until(next);
});

describe('a StatefulSet with updateStrategy OnDelete', () => {
  const fields = { kind: 'StatefulSet', spec: 'updateStrategy: {type: OnDelete}' };

  test('updates each pod when an operator restarts it, also across a kill', async () => {
    let machine = await booted(fields);
    await until(machine, 'web-0 app:1', 'web-1 app:1', 'web-2 app:1');
    machine.source.setManifest(manifest({ ...fields, image: 'app:2' }));
    await machine.world.pass(30_000);
    expect(pods(machine)).toEqual(['web-0 app:1', 'web-1 app:1', 'web-2 app:1']);
    expect(machine.engine.pod('web-1-edge1')?.waitingUpdate).toEqual({
      reason: 'OnDelete',
      message: 'StatefulSet web updates a pod when it is restarted; revision 1 runs',
    });
    const web = (ordinal: number): { namespace: string; name: string } => ({
      namespace: 'default',
      name: `web-${ordinal}-edge1`,
    });
    expect(await machine.engine.kubelet.operate({ action: 'restart', pod: web(1) })).toBe(
      'pod/web-1-edge1 changes to the newest revision',
    );
    await until(machine, 'web-0 app:1', 'web-1 app:2', 'web-2 app:1');
    await machine.engine.kubelet.operate({ action: 'stop', pod: web(2) });
    await machine.world.until(() => machine.engine.pod('web-2-edge1')?.pod.status?.reason === 'Stopped');
    await machine.engine.kubelet.operate({ action: 'start', pod: web(2) });
    await until(machine, 'web-0 app:1', 'web-1 app:2', 'web-2 app:2');

    machine.engine.crash();
    machine = await rebooted(machine);
    machine.source.setManifest(manifest({ ...fields, image: 'app:2' }));
    await machine.world.pass(30_000);
    expect(pods(machine)).toEqual(['web-0 app:1', 'web-1 app:2', 'web-2 app:2']);
    machine.source.setManifest(manifest({ ...fields, image: 'app:3' }));
    await machine.world.pass(30_000);
    expect(pods(machine)).toEqual(['web-0 app:1', 'web-1 app:2', 'web-2 app:2']);
  });
});

test('a StatefulSet with ordinals of seven digits removes the last pod first', async () => {
  const fields = { kind: 'StatefulSet', replicas: 3, spec: 'ordinals: {start: 1000000}' };
  const machine = await booted(fields);
  await until(machine, 'web-1000000 app:1', 'web-1000001 app:1', 'web-1000002 app:1');
  machine.source.setManifest(manifest({ ...fields, replicas: 1 }));
  await until(machine, 'web-1000000 app:1');
  const removed = machine.engine.events.events.flatMap((event) => (event.type === 'PodRemoved' ? event.pod.name : []));
  expect(removed).toEqual(['web-1000002-edge1', 'web-1000001-edge1']);
});

describe('a workload whose pods could have the names of other pods', () => {
  const other = manifest({ name: 'web-1', replicas: 1, image: 'app:3' });
  /** Declares it next to a Deployment web-1. Resolves once both run. */
  const bootedNextTo = async (fields: Fields, name: string): Promise<Machine> => {
    const machine = await booted({ ...fields, replicas: 1 });
    machine.source.setManifest(`${manifest({ ...fields, replicas: 1 })}---\n${other}`);
    await until(machine, `${name} app:1`, 'web-1 app:3');
    return machine;
  };
  const startsOfOther = ({ world }: Machine): number =>
    world.runtime
      .requestsOf('createContainer')
      .filter(({ sandboxConfig }) => sandboxConfig?.metadata?.name === 'web-1-edge1').length;

  test('leaves them alone while it updates', async () => {
    const spec = 'strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}';
    const machine = await bootedNextTo({ spec }, 'web');
    machine.source.setManifest(`${manifest({ replicas: 1, spec, image: 'app:2' })}---\n${other}`);
    expect(await until(machine, 'web app:2', 'web-1 app:3')).toEqual({ ready: 2, pods: 3 });
    expect(startsOfOther(machine)).toBe(1);
  });

  test('leaves them alone when it is scaled, and does not count them', async () => {
    const machine = await bootedNextTo({}, 'web');
    await machine.engine.kubelet.operateWorkload({ action: 'scale', workload: deployment, replicas: 3 });
    await until(machine, 'web app:1', 'web-1 app:3', 'web-2 app:1');
    await machine.world.pass(60_000);
    expect(machine.engine.kubelet.snapshot().workloads).toMatchObject([
      {
        name: 'web',
        desired: 3,
        ready: 2,
        pods: ['web-edge1', 'web-2-edge1'],
        conditions: [
          { type: 'Available' },
          { type: 'Progressing' },
          failure('NameTaken', 'web-1: another pod of its manifests has this name'),
        ],
      },
      { name: 'web-1', desired: 1, ready: 1, pods: ['web-1-edge1'] },
    ]);
    expect(startsOfOther(machine)).toBe(1);
  });

  test('leaves those of another source alone, and takes the name once that is free', async () => {
    const [world, other, source] = [await World.make(), new ManualSource(), new ManualSource()];
    world.runtime.addImage('app:1');
    world.runtime.addImage('app:3');
    const engine = await world.boot({ sources: [other, source] });
    world.runtime.scriptExec(() => ({ exitCode: 0 }));
    const machine = { world, engine, source, broken: new Set<string>() };
    other.setManifest(manifest({ name: 'web-1', replicas: 1, image: 'app:3' }));
    source.setManifest(manifest({ replicas: 1 }));
    await until(machine, 'web app:1', 'web-1 app:3');
    await engine.kubelet.operateWorkload({ action: 'scale', workload: deployment, replicas: 2 });
    const web = (): WorkloadSnapshot | undefined =>
      engine.kubelet.snapshot().workloads?.find(({ name }) => name === 'web');
    await world.until(() => web()?.desired === 2);
    expect(web()).toMatchObject({
      current: 1,
      pods: ['web-edge1'],
      conditions: [{}, {}, failure('NameTaken', 'web-1: a pod of <file> has this name')],
    });
    other.setManifest(manifest({ name: 'other', replicas: 1, image: 'app:3' }));
    await until(machine, 'other app:3', 'web app:1', 'web-1 app:1');
    expect(web()?.conditions).toHaveLength(2);
  });

  test('says which pods lack a host port', async () => {
    const ports = (text: string): string =>
      text.replace('image:', 'ports: [{containerPort: 80, hostPort: 8080}]\n          image:');
    const machine = await booted({ replicas: 0 });
    machine.source.setManifest(ports(manifest({ replicas: 3 })));
    const conditions = (): unknown[] => machine.engine.kubelet.snapshot().workloads?.[0]?.conditions.slice(2) ?? [];
    await machine.world.until(() => conditions().length > 0);
    const inUse =
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports: host port 8080/TCP is in use by pod default/web-edge1";
    expect(conditions()).toEqual([failure('NodePorts', `web-1, web-2: ${inUse}`)]);
  });

  test('does not count them in a StatefulSet', async () => {
    const machine = await bootedNextTo({ kind: 'StatefulSet' }, 'web-0');
    expect(machine.engine.kubelet.snapshot().workloads).toMatchObject([
      { name: 'web', desired: 1, current: 1, pods: ['web-0-edge1'] },
      { name: 'web-1', desired: 1, current: 1, pods: ['web-1-edge1'] },
    ]);
  });
});

describe('a workload that two sources declare', () => {
  const [here, there] = ['/manifests/web.yaml', '/applied/web.json'];

  async function bootedTwice(kind: string): Promise<Machine & { other: ManualSource }> {
    const world = await World.make();
    for (const image of ['app:1', 'app:2', 'app:3']) world.runtime.addImage(image);
    const [source, other] = [new ManualSource('file', here), new ManualSource('applied', there)];
    const engine = await world.boot({ sources: [source, other] });
    world.runtime.scriptExec(() => ({ exitCode: 0 }));
    source.setManifest(manifest({ kind, replicas: 1 }));
    other.setManifest(manifest({ kind, replicas: 3, image: 'app:3' }));
    return { world, engine, source, other, broken: new Set() };
  }

  test.each(['Deployment', 'StatefulSet'] as const)('runs as the first one declares it: %s', async (kind) => {
    const machine = await bootedTwice(kind);
    const names = kind === 'StatefulSet' ? ['web-0', 'web-1', 'web-2'] : ['web', 'web-1', 'web-2'];
    const podsOf = (image: string, count: number): string[] => names.slice(0, count).map((name) => `${name} ${image}`);
    await until(machine, ...podsOf('app:1', 1));
    await machine.world.pass(30_000);
    expect(pods(machine)).toEqual(podsOf('app:1', 1));
    const { sources, workloads } = machine.engine.kubelet.snapshot();
    expect(workloads).toMatchObject([{ kind, name: 'web', desired: 1, declaredBy: { where: here } }]);
    expect(sources.map(({ problems }) => problems)).toEqual([
      [],
      [
        {
          origin: there,
          severity: 'error',
          field: 'metadata.name',
          message: `${kind} default/web is declared by ${here} already`,
          hint: 'This one is used once the other source no longer declares it.',
        },
      ],
    ]);
    await machine.engine.kubelet.operateWorkload({ action: 'scale', workload: { ...deployment, kind }, replicas: 2 });
    await until(machine, ...podsOf('app:1', 2));
    machine.source.setManifest('');
    await until(machine, ...podsOf('app:3', 3));
    expect(machine.engine.kubelet.snapshot().sources.map(({ problems }) => problems)).toEqual([[], []]);
  });
});

describe('a workload whose first pod has the name of a pod of another source', () => {
  const podManifest =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: "app:3"}]}';

  test.each([
    ['Deployment', 'web app:3'],
    ['Job', 'web app:3'],
  ])('is listed with the reason, and runs its other pods: %s', async (kind) => {
    const world = await World.make();
    for (const image of ['app:1', 'app:3']) world.runtime.addImage(image);
    world.runtime.scriptExec(() => ({ exitCode: 0 }));
    const [plain, source] = [new ManualSource('file', '/a/web.yaml'), new ManualSource('http', 'https://b.example')];
    const engine = await world.boot({ sources: [plain, source] });
    const machine = { world, engine, source, broken: new Set<string>() };
    plain.setManifest(podManifest);
    await until(machine, 'web app:3');
    const job = `apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "app:1"}]}}}`;
    source.setManifest(kind === 'Job' ? job : manifest());
    const isJob = kind === 'Job';
    await until(machine, 'web app:3', ...(isJob ? [] : ['web-1 app:1', 'web-2 app:1']));
    await world.pass(30_000);
    const found = engine.kubelet.snapshot().workloads ?? [];
    expect(found).toMatchObject([{ kind, name: 'web', declaredBy: { where: 'https://b.example' } }]);
    expect(found[0]?.conditions.filter(({ type }) => type === 'ReplicaFailure')).toEqual([
      failure('NameTaken', 'web: a pod of /a/web.yaml has this name'),
    ]);
    if (!isJob) expect(found).toMatchObject([{ desired: 3, current: 2, pods: ['web-1-edge1', 'web-2-edge1'] }]);
    plain.set();
    await until(machine, ...(isJob ? ['web app:1'] : ['web app:1', 'web-1 app:1', 'web-2 app:1']));
    expect(engine.kubelet.snapshot().workloads?.[0]?.conditions.some(({ type }) => type === 'ReplicaFailure')).toBe(
      false,
    );
  });
});
