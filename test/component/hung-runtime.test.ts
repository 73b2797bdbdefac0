import { expect, test } from 'vitest';
import type { OperationAction } from '../../src/engine/operations/operation.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import type { MethodName } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'app:1';
const pod = (name: string, value = '1') =>
  makeStaticPod(name, { spec: { containers: [{ name: 'main', image, env: [{ name: 'A', value }] }] } });
const methods: readonly MethodName[] = [
  'version',
  'status',
  'listPodSandbox',
  'podSandboxStatus',
  'runPodSandbox',
  'stopPodSandbox',
  'removePodSandbox',
  'listContainers',
  'containerStatus',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
];

interface Node {
  world: World;
  engine: Engine;
  source: ManualSource;
}

/** A node that runs these pods. */
async function nodeWith(...names: string[]): Promise<Node> {
  const world = await World.make();
  world.runtime.addImage(image);
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setDerived(...names.map((name) => pod(name)));
  await world.until(() => names.every((name) => engine.isReady(`${name}-edge1`)));
  return { world, engine, source };
}

/** From now on the runtime answers nothing, as if it were stopped by SIGSTOP. Returns a function that continues it. */
function hang({ world }: Pick<Node, 'world'>): () => void {
  const releases = methods.map((method) => world.runtime.hang(method));
  return () => {
    for (const release of releases) release();
  };
}

/** The answer within so much time. */
async function answer<T>({ world }: Pick<Node, 'world'>, work: Promise<T>, withinMs: number): Promise<T | 'no answer'> {
  let result: T | 'no answer' = 'no answer';
  work.then(
    (value) => (result = value),
    (error: unknown) => (result = String(error) as T),
  );
  await world.pass(withinMs);
  return result;
}

const actions: readonly { name: string; action: OperationAction; says: string }[] = [
  { name: 'web', action: 'restart', says: 'pod/web-edge1 restarts as soon as the container runtime answers' },
  { name: 'web', action: 'retry', says: 'retrying pod/web-edge1 as soon as the container runtime answers' },
  { name: 'web', action: 'hold', says: 'pod/web-edge1 held: changes of its manifest wait until kubelet-ts unhold' },
  { name: 'web', action: 'unhold', says: 'pod/web-edge1 follows its manifest again' },
  { name: 'db', action: 'stop', says: 'pod/db-edge1 stops as soon as the container runtime answers' },
  { name: 'down', action: 'start', says: 'pod/down-edge1 starts as soon as the container runtime answers' },
];

test.each([20_000, 60_000, 300_000])('a runtime that hangs for %i ms delays no answer to operators', async (hungMs) => {
  const node = await nodeWith('web', 'db', 'down');
  const { world, engine, source } = node;
  const nameOf = (name: string) => ({ namespace: 'default', name: `${name}-edge1` });
  await world.until(() => engine.pod('down-edge1')?.worker.state === 'sync');
  await answer(node, engine.kubelet.operate({ action: 'stop', pod: nameOf('down') }), 3000);
  await world.until(() => world.runtime.running().length === 2);
  const goOn = hang(node);
  await world.pass(hungMs);

  for (const { name, action, says } of actions)
    expect(await answer(node, engine.kubelet.operate({ action, pod: nameOf(name) }), 1500)).toBe(says);
  source.setDerived(pod('web', '2'), pod('db'), pod('down'), pod('more'));
  expect(await answer(node, engine.kubelet.settled(), 10)).toBeUndefined();
  expect(engine.kubelet.snapshot().pods.map(({ pod }) => pod.metadata.name)).toContain('more-edge1');
  expect(engine.kubelet.pastRevisions(nameOf('web'))).toHaveLength(2);

  goOn();
  const ready = ['web-edge1', 'down-edge1', 'more-edge1'];
  await world.until(() => ready.every((name) => engine.isReady(name)));
  await world.until(() => !world.runtime.running().some((container) => container.startsWith('db')));
  expect(engine.pod('db-edge1')?.pod.status?.reason).toBe('Stopped');
});

test('a runtime that does not answer is reported after ten seconds, and so is its return', async () => {
  const node = await nodeWith('web');
  const { world, engine } = node;
  const errors = (): (string | undefined)[] =>
    engine.events.events.flatMap((event) =>
      event.type === 'RuntimeReady' ? [undefined] : event.type === 'RuntimeNotReady' ? [event.message] : [],
    );
  await world.pass(5000);
  const before = errors().length;
  const goOn = hang(node);
  await world.pass(16_000);
  expect(errors().slice(before)).toEqual(['the container runtime does not answer']);
  expect(engine.kubelet.snapshot().runtime.error).toBe('the container runtime does not answer');
  goOn();
  await world.pass(1000);
  expect(errors().slice(before)).toEqual(['the container runtime does not answer', undefined]);
  expect(engine.kubelet.snapshot().runtime.error).toBeUndefined();
});

test('an agent whose runtime has never answered refuses in time, and says why', async () => {
  const world = await World.make();
  const goOn = hang({ world });
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setDerived(pod('web'));
  const refusal = 'RequestRefused: container runtime status check may not have completed yet';
  expect(await answer({ world }, engine.kubelet.settled(), 6000)).toBe(refusal);
  goOn();
});
