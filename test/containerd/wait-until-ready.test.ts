import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { waitUntilReady } from '../../src/containerd/wait-until-ready.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { startPlainGrpcServer } from '../support/plain-grpc-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const signal = new AbortController().signal;

/** A clock that passes the time of each sleep at once. */
function skippingClock(): Clock & { sleeps: number[] } {
  const clock = new FakeClock();
  const sleeps: number[] = [];
  return {
    sleeps,
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (ms, fn) => clock.after(ms, fn),
    sleep: async (ms, options) => {
      options?.signal?.throwIfAborted();
      sleeps.push(ms);
      await clock.advance(ms);
    },
  };
}

test('a containerd without its CRI plugin is an error at once, because it gets none later', async () => {
  const socketPath = join(await temporaryFolder(), 'grpc.sock');
  await startPlainGrpcServer(socketPath);
  const clock = skippingClock();
  await expect(waitUntilReady(socketPath, { clock, signal, timeoutMs: 60_000 })).rejects.toThrow(
    new Error('it runs without its CRI plugin'),
  );
  expect(clock.sleeps).toEqual([]);
});

test('a CRI that is not ready is asked again, ever more rarely, until the time is up', async () => {
  const socketPath = join(await temporaryFolder(), 'cri.sock');
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  runtime.injectError('status', new Refusal(codes.unavailable, 'server is not initialized yet'), { times: Infinity });
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath });
  onTestFinished(() => {
    server.stop();
  });
  const clock = skippingClock();
  await expect(waitUntilReady(socketPath, { clock, signal, timeoutMs: 60_000 })).rejects.toThrow(
    new Error('no answer within 60 s'),
  );
  expect({ first: clock.sleeps[0], last: clock.sleeps.at(-1), isRare: clock.sleeps.length < 300 }).toEqual({
    first: 5,
    last: 250,
    isRare: true,
  });
});
