import { expect, test } from 'vitest';
import { retryWhileUnavailable } from '../../src/cri/retry-while-unavailable.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';

function asking(): { clock: FakeClock; runtime: FakeRuntime; answer: Promise<string>; stop: (reason: Error) => void } {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const stopping = new AbortController();
  return {
    clock,
    runtime,
    // Nothing is asked before the test has said what happens.
    answer: Promise.resolve().then(() =>
      retryWhileUnavailable(async () => (await runtime.version()).runtimeName, { clock, signal: stopping.signal }),
    ),
    stop: (reason) => {
      stopping.abort(reason);
    },
  };
}

const gone = new Refusal(codes.unavailable, 'read ECONNRESET');

test('a runtime that ended a moment ago is asked until it is back', async () => {
  const { clock, runtime, answer } = asking();
  runtime.injectError('version', gone, { times: 2 });
  await clock.advance(499);
  expect(runtime.calls.length).toBe(1);
  await clock.advance(501);
  expect(await answer).toBe('fake');
  expect(runtime.calls.length).toBe(3);
});

test('a runtime that does not come back is given up after a minute, with the last error', async () => {
  const { clock, runtime, answer } = asking();
  runtime.injectError('version', gone, { times: Infinity });
  const outcome = expect(answer).rejects.toThrow('read ECONNRESET');
  await clock.advance(60_000);
  await outcome;
  expect(runtime.calls.length).toBe(121);
});

test('any other answer is one', async () => {
  const { clock, runtime, answer } = asking();
  runtime.injectError('version', new Refusal(codes.unknown, 'no'));
  const outcome = expect(answer).rejects.toThrow('no');
  await clock.advance(0);
  await outcome;
  expect(runtime.calls.length).toBe(1);
});

test('a stop ends the wait', async () => {
  const { clock, runtime, answer, stop } = asking();
  runtime.injectError('version', gone, { times: Infinity });
  const outcome = expect(answer).rejects.toThrow('SIGTERM');
  await clock.advance(700);
  stop(new Error('SIGTERM'));
  await outcome;
});
