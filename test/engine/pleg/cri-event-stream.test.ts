import { expect, test } from 'vitest';
import { criEventStream } from '../../../src/engine/pleg/runtime-event-stream.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

test('tells what happened to which pod', async () => {
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  const events: unknown[] = [];
  const listening = (async () => {
    for await (const event of criEventStream(runtime).events(new AbortController().signal)) events.push(event);
  })();
  await runtime.waitForCall('getContainerEvents');
  const { podSandboxId } = await runtime.runPodSandbox({
    config: { metadata: { name: 'web', namespace: 'default', uid: 'u1' } },
  });
  await runtime.stopPodSandbox({ podSandboxId });
  await runtime.removePodSandbox({ podSandboxId });
  runtime.endEventStreams();
  await listening;
  const event = (type: string): object => ({ id: podSandboxId, type, podUID: 'u1' });
  expect(events).toEqual([event('changed'), event('changed'), event('exited'), event('removed')]);
});
