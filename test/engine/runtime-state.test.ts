import { expect, test } from 'vitest';
import { RuntimeState } from '../../src/engine/runtime-state.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';

test('a runtime that is ready is asked every five seconds, one that is not twice in a second', async () => {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const events: string[] = [];
  const state = new RuntimeState({
    runtime,
    clock,
    emit: ({ type }) => {
      events.push(type);
    },
    plegUnhealthyBecause: () => undefined,
  });
  const stopping = new AbortController();
  const ended = state.run(stopping.signal);
  await clock.advance(5000);
  expect(runtime.requestsOf('status')).toHaveLength(2);
  runtime.injectError('status', new Refusal(codes.unavailable, 'Connection dropped'), { times: 4 });
  await clock.advance(5000);
  expect(state.error()).toBe('Connection dropped');
  await clock.advance(1999);
  expect(events).toEqual(['RuntimeReady', 'RuntimeNotReady']);
  await clock.advance(1);
  expect(events).toEqual(['RuntimeReady', 'RuntimeNotReady', 'RuntimeReady']);
  expect(state.error()).toBeUndefined();
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
});

test('a runtime that does not list its containers is a reason, too', async () => {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const plegUnhealthyBecause = (): string => 'pleg was last seen active 181s ago; threshold is 180s';
  const state = new RuntimeState({ runtime, clock, emit: () => undefined, plegUnhealthyBecause });
  const stopping = new AbortController();
  const ended = state.run(stopping.signal);
  await clock.advance(0);
  expect(state.error()).toBe('PLEG is not healthy: pleg was last seen active 181s ago; threshold is 180s');
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
});
