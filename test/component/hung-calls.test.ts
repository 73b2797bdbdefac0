import { describe, expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import type { MethodName } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'registry.example/app:1';

const webOf = (uid: string): Pod =>
  makeStaticPod('web', { uid, spec: { containers: ['main', 'second'].map((name) => ({ name, image })) } });

interface Hung {
  world: World;
  engine: Engine;
  source: ManualSource;
  /** Lets the runtime carry out the call. */
  goOn: () => void;
}

/** A pod with a call that the runtime does not answer. If several containers need the call, the second one. */
async function hungIn(method: MethodName, { answersOnly = false } = {}): Promise<Hung> {
  // Over the wire, because gRPC cancels the calls.
  const world = await World.make({ wire: true });
  world.runtime.addImage(image);
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  const callsBefore = method === 'runPodSandbox' ? 0 : 1;
  const goOn = world.runtime.hang(method, {
    answersOnly,
    when: () => world.runtime.requestsOf(method).length > callsBefore,
  });
  source.set(webOf('first'));
  await world.until(() => world.runtime.requestsOf(method).length > callsBefore);
  return { world, engine, source, goOn };
}

const makingCalls = ['runPodSandbox', 'createContainer', 'startContainer'] as const;

describe.each(makingCalls)('a pod that goes while %s hangs', (method) => {
  test.each([false, true])('is stopped and removed ten seconds later (made already: %s)', async (answersOnly) => {
    const { world, engine, source } = await hungIn(method, { answersOnly });
    const goneAt = world.clock.now();
    source.set();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    const tookMs = world.clock.now() - goneAt;
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
    expect(tookMs).toBeLessThan(15_000);
    expect(await world.inventory()).toEqual([]);
    expect(engine.messages('Failed')).toEqual([]);
  });

  test('is given the time to be answered, and no other call is made for it', async () => {
    const { world, engine, source, goOn } = await hungIn(method);
    const callsBefore = makingCalls.flatMap((making) => world.runtime.requestsOf(making)).length;
    source.set();
    await world.pass(5000);
    goOn();
    const answeredAt = world.clock.now();
    await world.until(() => engine.kubelet.snapshot().pods.length === 0);
    expect(world.clock.now() - answeredAt).toBeLessThan(5000);
    expect(await world.inventory()).toEqual([]);
    expect(makingCalls.flatMap((making) => world.runtime.requestsOf(making))).toHaveLength(callsBefore);
  });
});

test('a sandbox that the runtime takes long to create is in the snapshot until the answer', async () => {
  const { world, engine, goOn } = await hungIn('runPodSandbox');
  const delay = () => engine.pod('web-edge1')?.sandboxDelay;
  await world.pass(19_000);
  expect(delay()).toBeUndefined();
  await world.until(() => engine.messages('SandboxDelayed').length > 0);
  expect(engine.messages('SandboxDelayed')).toEqual([
    'The container runtime has not created the pod sandbox within 20 s',
  ]);
  expect(delay()).toEqual({ seconds: 20 });
  goOn();
  await world.until(() => engine.isReady('web-edge1'));
  expect(delay()).toBeUndefined();
});

describe('the next revision of a pod of which RunPodSandbox hangs', () => {
  test('starts when that was cancelled, and not before', async () => {
    const { world, engine, source, goOn } = await hungIn('runPodSandbox');
    const changedAt = world.clock.now();
    source.set(webOf('second'));
    await world.runtime.waitForCall('runPodSandbox');
    const next = world.runtime.waitForCall('runPodSandbox');
    await world.until(() => world.runtime.requestsOf('runPodSandbox').length === 2);
    expect((await next).at - changedAt).toBeGreaterThanOrEqual(10_000);
    goOn();
    await world.until(() => engine.isReady('web-edge1'));
    expect(world.runtime.maxConcurrentRevisions('web-edge1')).toBe(1);
  });

  test('is alone again soon when the runtime makes the cancelled sandbox all the same', async () => {
    const { world, engine, source, goOn } = await hungIn('runPodSandbox');
    const [cancelled] = world.runtime.requestsOf('runPodSandbox');
    source.set(webOf('second'));
    await world.until(() => world.runtime.requestsOf('runPodSandbox').length === 2);
    goOn();
    await world.until(() => engine.isReady('web-edge1'));
    await world.runtime.runPodSandbox(cancelled);
    expect(await world.inventory()).toHaveLength(4);
    await world.until(async () => (await world.inventory()).length === 3);
    expect(world.runtime.running().toSorted()).toEqual(['web-edge1/main#0', 'web-edge1/second#0']);
  });
});
