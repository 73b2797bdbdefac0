import { expect, test } from 'vitest';
import { RpcError } from '../../src/errors.ts';
import { isDeadlineExceeded } from '../../src/cri/errors.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { directChannel } from './direct-channel.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeRuntime } from './fake-runtime.ts';

function connected(): { clock: FakeClock; fake: FakeRuntime; runtime: RuntimeService } {
  const clock = new FakeClock();
  const fake = new FakeRuntime({ clock });
  return { clock, fake, runtime: grpcRuntimeService(directChannel(fake)) };
}

const metadata = { name: 'web', namespace: 'default', uid: 'u1' };

test('neither side sees what the other changes later', async () => {
  const { fake, runtime } = connected();
  const labels: Record<string, string> = { app: 'web' };
  const { podSandboxId } = await runtime.runPodSandbox({ config: { metadata, labels } });
  labels['app'] = 'changed';
  const { status } = await runtime.podSandboxStatus({ podSandboxId });
  if (status !== undefined) status.labels['app'] = 'changed too';
  expect((await fake.podSandboxStatus({ podSandboxId })).status?.labels).toEqual({ app: 'web' });
});

test('a call that is not answered ends at the deadline of its method, by the clock of the runtime', async () => {
  const { clock, fake, runtime } = connected();
  fake.hang('runPodSandbox');
  const ended = runtime
    .runPodSandbox({ config: { metadata } })
    .catch((error: unknown) => ({ isDeadline: isDeadlineExceeded(error), at: clock.monotonic() }));
  await clock.advance(1_000_000);
  expect(await ended).toEqual({ isDeadline: true, at: 240_000 });
  expect(fake.callsUnderWay).toBe(0);
});

test('an aborted call rejects with the reason, and has no effect', async () => {
  const { fake, runtime } = connected();
  const goOn = fake.hang('runPodSandbox');
  const giveUp = new AbortController();
  const call = runtime.runPodSandbox({ config: { metadata } }, { signal: giveUp.signal });
  const reason = new Error('the pod goes');
  giveUp.abort(reason);
  await expect(call).rejects.toBe(reason);
  goOn();
  expect((await runtime.listPodSandbox()).items).toEqual([]);
});

test('an error that has no status comes as one of status UNKNOWN', async () => {
  const { fake, runtime } = connected();
  fake.injectError('version', new Error('a bug'));
  await expect(runtime.version()).rejects.toEqual(new RpcError('Version', 2, 'a bug'));
});

test('events come as they happen', async () => {
  const { fake, runtime } = connected();
  const events = runtime.getContainerEvents()[Symbol.asyncIterator]();
  const next = events.next();
  await fake.waitForCall('getContainerEvents');
  const { podSandboxId } = await runtime.runPodSandbox({ config: { metadata } });
  expect((await next).value).toMatchObject({ containerId: podSandboxId });
  await events.return?.();
});
