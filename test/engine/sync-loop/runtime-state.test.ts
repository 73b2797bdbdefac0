import { expect, test } from 'vitest';
import { RuntimeState } from '../../../src/engine/sync-loop/runtime-state.ts';
import { codes, Refusal } from '../../fakes/fake-calls.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

/** Runs the checks of a runtime whose events are not followed. */
function begin(deps: Partial<ConstructorParameters<typeof RuntimeState>[0]>) {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const state = new RuntimeState({
    runtime,
    clock,
    emit: () => undefined,
    isFollowed: () => false,
    plegUnhealthyBecause: () => undefined,
    findReadOnlyDisk: () => Promise.resolve(undefined),
    ...deps,
  });
  const stopping = new AbortController();
  const ended = state.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort(new Error('stop'));
    await expect(ended).rejects.toThrow('stop');
  };
  return { clock, runtime, state, stop };
}

test('a runtime that is ready is asked every five seconds, one that is not twice in a second', async () => {
  const events: string[] = [];
  const { state, runtime, clock, stop } = begin({ emit: ({ type }) => void events.push(type) });
  await clock.advance(5000);
  expect(runtime.requestsOf('status')).toHaveLength(2);
  runtime.injectError('status', new Refusal(codes.unavailable, 'it closed the connection'), { times: 4 });
  await clock.advance(5000);
  expect(state.error()).toBe('it closed the connection');
  await clock.advance(1999);
  expect(events).toEqual(['RuntimeReady', 'RuntimeNotReady']);
  await clock.advance(1);
  expect(events).toEqual(['RuntimeReady', 'RuntimeNotReady', 'RuntimeReady']);
  expect(state.error()).toBeUndefined();
  await stop();
});

test('a runtime that does not list its containers is a reason, too', async () => {
  const plegUnhealthyBecause = (): string => 'pleg was last seen active 181s ago; threshold is 180s';
  const { state, clock, stop } = begin({ plegUnhealthyBecause });
  await clock.advance(0);
  expect(state.error()).toBe('PLEG is not healthy: pleg was last seen active 181s ago; threshold is 180s');
  await stop();
});

test('a runtime whose events are followed is asked every ten seconds, and at once when they are lost', async () => {
  let isFollowed = true;
  const { state, runtime, clock, stop } = begin({ isFollowed: () => isFollowed });
  const asked = async (ms: number): Promise<number> => {
    await clock.advance(ms);
    return runtime.requestsOf('status').length;
  };
  expect([await asked(0), await asked(9989), await asked(11)]).toEqual([1, 1, 2]);
  isFollowed = false;
  runtime.injectError('status', new Refusal(codes.unavailable, 'it closed the connection'), { times: 1 });
  state.checkNow();
  state.checkNow();
  expect([await asked(0), state.error()]).toEqual([3, 'it closed the connection']);
  expect([await asked(500), state.error()]).toEqual([4, undefined]);
  expect([await asked(4000), await asked(500)]).toEqual([4, 5]);
  await stop();
});

test('while the pod network is not ready, a followed runtime is asked every five seconds', async () => {
  const { runtime, clock, stop } = begin({ isFollowed: () => true });
  runtime.setCondition('NetworkReady', false);
  await clock.advance(5000);
  expect(runtime.requestsOf('status')).toHaveLength(2);
  await stop();
});

test('a disk that became read-only is an error within a minute, is reported once, and is over once it is writable', async () => {
  const events: unknown[] = [];
  let mount: string | undefined;
  const { state, clock, stop } = begin({
    emit: (event) => void events.push(event),
    isFollowed: () => true,
    findReadOnlyDisk: () => Promise.resolve(mount),
  });
  await clock.advance(20_000);
  events.length = 0;
  mount = '/data';
  await clock.advance(120_000);
  const message = 'the disk at /data is read-only, so no container can start or stop';
  expect({ error: state.error(), disk: state.readOnlyDisk }).toEqual({ error: message, disk: '/data' });
  expect(events).toEqual([{ type: 'RuntimeNotReady', message }]);
  mount = undefined;
  await clock.advance(70_000);
  expect(state.error()).toBeUndefined();
  expect(events.slice(1)).toEqual([{ type: 'RuntimeReady', name: state.name, version: state.version }]);
  await stop();
});
