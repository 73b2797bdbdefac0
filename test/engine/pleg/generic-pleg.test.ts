import { beforeEach, describe, expect, test } from 'vitest';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { GenericPleg } from '../../../src/engine/pleg/generic-pleg.ts';
import { PodCache } from '../../../src/engine/pleg/pod-cache.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const { signal } = new AbortController();
const refused = new Refusal(codes.unknown, 'no');

let clock: FakeClock;
let runtime: FakeRuntime;
let cache: PodCache;
let pleg: GenericPleg;
/** Events as `pod type id`, each with what the cache had when it came. */
let events: string[];
let cachedAtEvent: RuntimePodStatus[];

beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
  cache = new PodCache();
  events = [];
  cachedAtEvent = [];
  pleg = new GenericPleg({
    runtime: new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message) }),
    cache,
    clock,
    logger: silentLogger,
    onEvents: (found) => {
      for (const { podUID, type, id } of found) events.push(`${podUID} ${type} ${id}`);
      for (const { podUID } of found) cachedAtEvent.push(cache.get(podUID));
    },
  });
});

const startPod = (uid: string) => startRuntimePod(runtime, uid);
const taken = (): string[] => events.splice(0);

test('a pod that was listed is known before its status could be read', async () => {
  await startPod('a');
  const release = runtime.hang('podSandboxStatus');
  const relist = pleg.relist(signal);
  await runtime.waitForCall('podSandboxStatus');
  expect(pleg.pods().map(({ uid }) => uid)).toEqual(['a']);
  release();
  await relist;
  expect(pleg.pods().map(({ uid }) => uid)).toEqual(['a']);
});

describe('reading one pod', () => {
  test('tells what happened to it, and nothing of the others', async () => {
    const { sandbox, container } = await startPod('a');
    await startPod('b');
    await pleg.relistPod('a', signal);
    expect(taken()).toEqual([`a ContainerStarted ${container}`, `a ContainerStarted ${sandbox}`]);
    await pleg.relist(signal);
    expect(taken()).toHaveLength(2);
  });

  test('brings the cache up to date though nothing happened', async () => {
    await startPod('a');
    await pleg.relist(signal);
    await clock.advance(500);
    expect(cache.hasNewerThan('a', 499)).toBe(false);
    await pleg.relistPod('a', signal);
    expect(cache.hasNewerThan('a', 499)).toBe(true);
  });

  test('tells whoever waits for a pod that the runtime does not have', async () => {
    const waiting = cache.getNewerThan('gone', 99, signal);
    await clock.advance(100);
    await pleg.relistPod('gone', signal);
    expect((await waiting).containerStatuses).toEqual([]);
  });

  test('comes after the one under way; those that are asked for meanwhile are one', async () => {
    await startPod('a');
    const release = runtime.hang('listContainers');
    const first = pleg.relistPod('a', signal);
    await clock.advance(0);
    const looks = [pleg.relistPod('a', signal), pleg.relistPod('a', signal), pleg.relistPod('a', signal)];
    release();
    await Promise.all([first, ...looks]);
    expect(runtime.requestsOf('listContainers')).toHaveLength(2);
  });

  test('that fails is dropped; the next relist finds the same change', async () => {
    const { sandbox, container } = await startPod('a');
    runtime.injectError('listPodSandbox', refused);
    await pleg.relistPod('a', signal);
    expect(taken()).toEqual([]);
    await pleg.relist(signal);
    expect(taken()).toEqual([`a ContainerStarted ${container}`, `a ContainerStarted ${sandbox}`]);
  });
});

describe('events', () => {
  test('come after the cache has what they tell', async () => {
    const { container } = await startPod('a');
    await pleg.relist(signal);
    runtime.exitContainer(container, 3);
    taken();
    cachedAtEvent.splice(0);
    await pleg.relist(signal);
    expect(taken()).toEqual([`a ContainerDied ${container}`]);
    expect(cachedAtEvent[0]?.containerStatuses[0]).toMatchObject({ state: 'exited', exitCode: 3 });
  });

  test('are delayed until the status of the pod can be read', async () => {
    const { container } = await startPod('a');
    await pleg.relist(signal);
    taken();
    runtime.exitContainer(container, 3);
    runtime.injectError('containerStatus', refused, { times: 2 });
    await clock.advance(10);
    await pleg.relist(signal);
    await clock.advance(10);
    await pleg.relist(signal);
    expect(taken()).toEqual([]);
    await expect(cache.getNewerThan('a', 5, signal)).rejects.toThrow('no');
    await clock.advance(10);
    await pleg.relist(signal);
    expect(taken()).toEqual([`a ContainerDied ${container}`]);
    expect((await cache.getNewerThan('a', 25, signal)).containerStatuses).toHaveLength(1);
  });

  test('of one pod are not delayed by another that cannot be read', async () => {
    const a = await startPod('a');
    const b = await startPod('b');
    runtime.injectError('containerStatus', refused, { when: ({ containerId }) => containerId === a.container });
    await pleg.relist(signal);
    expect(taken()).toEqual([`b ContainerStarted ${b.container}`, `b ContainerStarted ${b.sandbox}`]);
  });

  test('tell of a pod that was removed, with its last status', async () => {
    const { sandbox, container } = await startPod('a');
    await pleg.relist(signal);
    taken();
    await runtime.removePodSandbox({ podSandboxId: sandbox });
    await pleg.relist(signal);
    expect(taken()).toEqual([
      `a ContainerDied ${container}`,
      `a ContainerRemoved ${container}`,
      `a ContainerDied ${sandbox}`,
      `a ContainerRemoved ${sandbox}`,
    ]);
    expect(cache.get('a').containerStatuses).toEqual([]);
  });
});

describe('the addresses of a pod', () => {
  test('stay when its sandbox died, until it has a new one', async () => {
    await startPod('a');
    await pleg.relist(signal);
    const { ips } = cache.get('a');
    runtime.killSandbox('a');
    await pleg.relist(signal);
    expect(ips).toHaveLength(1);
    expect(cache.get('a').ips).toEqual(ips);
  });
});

describe('a running PLEG', () => {
  test('relists a second after the end of the last relist', async () => {
    const stopping = new AbortController();
    runtime.latency('listContainers', 250);
    const running = pleg.run(stopping.signal).catch(() => undefined);
    await clock.advance(0);
    await clock.advance(1249);
    expect(runtime.requestsOf('listContainers')).toHaveLength(1);
    await clock.advance(1);
    expect(runtime.requestsOf('listContainers')).toHaveLength(2);
    stopping.abort(new Error('over'));
    await running;
  });

  test('is not healthy before its first relist, and when none succeeded for three minutes', async () => {
    expect(pleg.unhealthyBecause()).toBe('pleg has yet to be successful');
    const stopping = new AbortController();
    const running = pleg.run(stopping.signal).catch(() => undefined);
    await clock.advance(0);
    expect(pleg.unhealthyBecause()).toBeUndefined();
    const recover = runtime.injectError('listContainers', refused, { times: Infinity });
    await clock.advance(180_000);
    expect(pleg.unhealthyBecause()).toBeUndefined();
    await clock.advance(1000);
    expect(pleg.unhealthyBecause()).toBe('pleg was last seen active 181s ago; threshold is 180s');
    recover();
    await clock.advance(1000);
    expect(pleg.unhealthyBecause()).toBeUndefined();
    stopping.abort(new Error('over'));
    await running;
  });
});
