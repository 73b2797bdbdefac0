import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { RpcError } from '../../../src/errors.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { AsyncQueue } from '../../../src/flow/async-queue.ts';
import { ContainerExits } from '../../../src/engine/container/container-exits.ts';
import { EventWatch } from '../../../src/engine/pleg/event-watch.ts';
import { GenericPleg } from '../../../src/engine/pleg/generic-pleg.ts';
import { PodCache } from '../../../src/engine/pleg/pod-cache.ts';
import type { RuntimeEvent, RuntimeEventStream } from '../../../src/engine/pleg/runtime-event-stream.ts';
import { codes } from '../../fakes/fake-calls.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

/** A stream whose events are what the test says; every opening of it fails as long as there is an error. */
class ManualStream implements RuntimeEventStream {
  readonly name: string;
  error: Error | undefined;
  opened = 0;
  #said = new AsyncQueue<RuntimeEvent | Error>();

  constructor(name: string) {
    this.name = name;
  }

  say(...said: (RuntimeEvent | Error)[]): void {
    for (const one of said) this.#said.push(one);
  }

  async *events(signal: AbortSignal): AsyncGenerator<RuntimeEvent, void> {
    this.opened += 1;
    for (;;) {
      if (this.error !== undefined) throw this.error;
      const next = await this.#said.pull(signal);
      if (next instanceof Error) throw next;
      yield next;
    }
  }
}

const unimplemented = new RpcError('Subscribe', codes.unimplemented, 'unknown service');
const lost = new RpcError('Subscribe', codes.unavailable, 'connection lost');

let clock: FakeClock;
let runtime: FakeRuntime;
let stream: ManualStream;
let watch: EventWatch;
let events: string[];
let pods: RuntimePods;

beforeEach(async () => {
  clock = new FakeClock();
  runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
  stream = new ManualStream('first');
  events = [];
  await start([stream]);
});

/** Runs a PLEG with these streams beside it until the test ends. */
async function start(streams: RuntimeEventStream[]): Promise<void> {
  const stopping = new AbortController();
  const exits = new ContainerExits();
  pods = new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message), exits });
  const pleg = new GenericPleg({
    runtime: pods,
    cache: new PodCache(),
    clock,
    logger: silentLogger,
    onEvents: (found) => {
      for (const { podUID, type, id } of found) events.push(`${podUID} ${type} ${id}`);
    },
  });
  watch = new EventWatch({
    streams,
    pleg,
    exits,
    podUIDOf: (id, signal) => pods.podUIDOf(id, signal),
    onLost: () => {
      events.push('lost');
    },
    onOutOfMemory: (id) => {
      events.push(`${id} out of memory`);
    },
    clock,
    logger: silentLogger,
  });
  const parts = [pleg.run(stopping.signal), watch.run(stopping.signal)];
  onTestFinished(async () => {
    stopping.abort(new Error('the test is over'));
    await Promise.allSettled(parts);
  });
  await clock.advance(0);
}

const startPod = (uid: string) => startRuntimePod(runtime, uid);
const taken = (): string[] => events.splice(0);
/** Relists of everything so far. */
const relists = (): number => runtime.requestsOf('listPodSandbox').filter(({ filter }) => filter === undefined).length;

describe('a stream', () => {
  test('that is not refused for a second takes the place of the relist every second', async () => {
    await clock.advance(999);
    expect([watch.live, relists()]).toEqual([undefined, 1]);
    await clock.advance(1);
    expect(watch.live).toBe('first');
    // One more at once, as something may have happened before the stream was there.
    await clock.advance(0);
    const before = relists();
    await clock.advance(58_999);
    expect(relists() - before).toBe(0);
    await clock.advance(1);
    expect(relists() - before).toBe(1);
    await clock.advance(59_999);
    expect(relists() - before).toBe(1);
    await clock.advance(1);
    expect(relists() - before).toBe(2);
  });

  test('reports an exit at once', async () => {
    const { container, sandbox } = await startPod('a');
    await clock.advance(1000);
    expect(taken()).toEqual([`a ContainerStarted ${container}`, `a ContainerStarted ${sandbox}`]);
    runtime.exitContainer(container, 1);
    stream.say({ id: container, type: 'exited' });
    await clock.advance(0);
    expect(taken()).toEqual([`a ContainerDied ${container}`]);
  });

  test('that reports a killed process is passed on without reading the pod', async () => {
    const { container } = await startPod('a');
    await clock.advance(1000);
    taken();
    const before = runtime.requestsOf('listContainers').length;
    stream.say({ id: container, type: 'outOfMemory' });
    await clock.advance(0);
    expect(taken()).toEqual([`${container} out of memory`]);
    expect(runtime.requestsOf('listContainers').length).toBe(before);
  });

  test('that knows of an exit before the listings do makes them be read again', async () => {
    const { container } = await startPod('a');
    await clock.advance(1000);
    taken();
    stream.say({ id: container, type: 'exited' });
    await clock.advance(7);
    expect(taken()).toEqual([]);
    runtime.exitContainer(container, 1);
    await clock.advance(7);
    expect(taken()).toEqual([`a ContainerDied ${container}`]);
  });

  test('that reports the end of a sandbox before the listings do has them read again less often', async () => {
    const { sandbox } = await startPod('a');
    await clock.advance(1000);
    const before = runtime.requestsOf('listPodSandbox').length;
    stream.say({ id: sandbox, type: 'exited' });
    await clock.advance(200);
    // At 0, 24, 60, 114 and 195 ms.
    expect(runtime.requestsOf('listPodSandbox').length - before).toBe(5);
  });

  test('that reports an exit is trusted until the runtime confirms it, at the cost of one call', async () => {
    const { container } = await startPod('a');
    await clock.advance(1000);
    taken();
    const calls = runtime.calls.length;
    const end = { exitCode: 3, finishedAt: clock.now(), reason: 'Error' };
    stream.say({ id: container, type: 'exited', end });
    await clock.advance(0);
    expect(taken()).toEqual([`a ContainerDied ${container}`]);
    expect(runtime.calls.slice(calls).map(({ method }) => method)).toEqual(['containerStatus']);
    const ended = { id: container, state: 'exited', exitCode: 3, finishedAt: end.finishedAt, reason: 'Error' };
    expect((await pods.getPodStatus('a')).containerStatuses).toMatchObject([ended]);
    await clock.advance(299);
    runtime.exitContainer(container, 4);
    await clock.advance(1);
    expect((await pods.getPodStatus('a')).containerStatuses).toMatchObject([
      { exitCode: 4, finishedAt: clock.now() - 1 },
    ]);
    expect(taken()).toEqual([]);
  });

  test('may tell how a container ended that no listing has shown', async () => {
    await clock.advance(1000);
    const { container, sandbox } = await startPod('a');
    stream.say({ id: container, type: 'exited', end: { exitCode: 0, finishedAt: 1, reason: 'Completed' } });
    await clock.advance(0);
    expect(taken()).toEqual([`a ContainerDied ${container}`, `a ContainerStarted ${sandbox}`]);
  });

  test('may tell of containers that no listing has shown, and of some that nobody knows', async () => {
    await clock.advance(1000);
    const { container, sandbox } = await startPod('a');
    stream.say({ id: 'nobody', type: 'exited' }, { id: container, type: 'changed' });
    await clock.advance(0);
    expect(taken()).toEqual([`a ContainerStarted ${container}`, `a ContainerStarted ${sandbox}`]);
  });

  test('that is lost is opened again, and everything is relisted every second until then', async () => {
    await clock.advance(1000);
    const { container } = await startPod('a');
    stream.error = lost;
    stream.say(lost);
    await clock.advance(0);
    expect(watch.live).toBeUndefined();
    // The second one happened while nobody listened.
    expect(taken()).toEqual(expect.arrayContaining(['lost', `a ContainerStarted ${container}`]));
    const before = relists();
    await clock.advance(3000);
    expect(relists() - before).toBe(3);
    stream.error = undefined;
    runtime.exitContainer(container, 1);
    await clock.advance(7000);
    expect(watch.live).toBe('first');
    expect(taken()).toEqual([`a ContainerDied ${container}`]);
  });
});

describe('of several streams', () => {
  test('the first one that the runtime has is followed', async () => {
    const other = new ManualStream('second');
    const refused = new ManualStream('refused');
    refused.error = unimplemented;
    await start([refused, other]);
    await clock.advance(1000);
    expect([watch.live, refused.opened, other.opened]).toEqual(['second', 1, 1]);
  });

  test('none may be there; they are tried again every minute, as the runtime may be another one then', async () => {
    const refused = new ManualStream('refused');
    refused.error = unimplemented;
    await start([refused]);
    await clock.advance(59_000);
    expect([watch.live, refused.opened]).toEqual([undefined, 1]);
    refused.error = undefined;
    await clock.advance(2000);
    expect([watch.live, refused.opened]).toEqual(['refused', 2]);
  });
});

test('a pod that cannot be read holds up no other', async () => {
  const a = await startPod('a');
  const b = await startPod('b');
  await clock.advance(2000);
  taken();
  const release = runtime.hang('containerStatus', { when: ({ containerId }) => containerId === a.container });
  runtime.exitContainer(a.container, 1);
  stream.say({ id: a.container, type: 'exited' });
  await clock.advance(0);
  runtime.exitContainer(b.container, 1);
  stream.say({ id: b.container, type: 'exited' });
  await clock.advance(0);
  expect(taken()).toEqual([`b ContainerDied ${b.container}`]);
  release();
  await clock.advance(0);
  expect(taken()).toEqual([`a ContainerDied ${a.container}`]);
});
