import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { isDeadlineExceeded, isNotFound, isUnavailable } from '../../src/cri/errors.ts';
import { openChannel, type Channel } from '../../src/cri/grpc-channel.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let socketPath: string;
let fake: FakeRuntime;
let server: FakeCriServer;
let channel: Channel;
let runtime: RuntimeService;
let containerId: string;

beforeEach(async () => {
  socketPath = join(await temporaryFolder(), 'cri.sock');
  fake = new FakeRuntime({ clock: systemClock });
  server = new FakeCriServer(fake);
  await server.start({ socketPath });
  channel = openChannel(`unix://${socketPath}`);
  runtime = grpcRuntimeService(channel);
  fake.addImage('app:1');
  const metadata = { name: 'web', namespace: 'default', uid: 'u1' };
  const { podSandboxId } = await fake.runPodSandbox({ config: { metadata } });
  const config = { metadata: { name: 'app' }, image: { image: 'app:1' }, labels: {} };
  ({ containerId } = await fake.createContainer({ podSandboxId, config, sandboxConfig: { metadata } }));
  await fake.startContainer({ containerId });
});
afterEach(() => {
  channel.close();
  server.stop();
});

test('the first 10 KiB of an output of 15 MB are kept, and how much came after them', async () => {
  const stdout = Buffer.alloc(15_000_000, 'o');
  const stderr = Buffer.alloc(20_000, 'e');
  fake.scriptExec(() => ({ stdout, stderr, exitCode: 3 }));
  expect(await runtime.execSync({ containerId, cmd: ['yes'] })).toEqual({
    stdout: stdout.subarray(0, 10_240),
    stderr: stderr.subarray(0, 10_240),
    exitCode: 3,
    leftOutBytes: 15_000_000 + 20_000 - 2 * 10_240,
  });
});

test('a caller can ask for more of the output', async () => {
  const stdout = Buffer.alloc(3_000_000, 'o');
  fake.scriptExec(() => ({ stdout, exitCode: 0 }));
  const { stdout: kept, ...rest } = await runtime.execSync(
    { containerId, cmd: ['yes'] },
    { maxOutputBytes: 2_000_000 },
  );
  expect({ ...rest, kept: kept.length }).toEqual({
    kept: 2_000_000,
    stderr: Buffer.alloc(0),
    exitCode: 0,
    leftOutBytes: 1_000_000,
  });
});

test('a command gets its input and its output is returned', async () => {
  fake.scriptExec(({ cmd }) => ({ stdout: Buffer.from(cmd.join(' ')), exitCode: 0 }));
  const answers = await Promise.all(
    ['a', 'b'].map((word) => runtime.execSync({ containerId, cmd: ['echo', word], timeout: 1n })),
  );
  expect(answers).toEqual(
    ['a', 'b'].map((word) => ({ stdout: Buffer.from(`echo ${word}`), stderr: Buffer.alloc(0), exitCode: 0 })),
  );
});

test('reports the message and the status of a refusal', async () => {
  fake.injectError('execSync', new Refusal(codes.notFound, 'container "größe": 100% gone'));
  const error: unknown = await runtime.execSync({ containerId }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ method: 'ExecSync', message: 'container "größe": 100% gone' });
  expect(isNotFound(error)).toBe(true);
});

test('a runtime that hangs is given up at the deadline, or with the signal', async () => {
  const release = fake.hang('execSync');
  const late: unknown = await runtime.execSync({ containerId }, { deadlineMs: 20 }).catch((reason: unknown) => reason);
  expect(isDeadlineExceeded(late)).toBe(true);
  const reason = new Error('its pod goes');
  const given = runtime.execSync({ containerId }, { signal: AbortSignal.abort(reason) });
  await expect(given).rejects.toBe(reason);
  const giveUp = new AbortController();
  const call = runtime.execSync({ containerId }, { signal: giveUp.signal });
  await fake.waitForCall('execSync');
  giveUp.abort(reason);
  await expect(call).rejects.toBe(reason);
  release();
});

test('a runtime that was restarted is asked again, and one that is away is unavailable', async () => {
  fake.scriptExec(() => ({ exitCode: 0 }));
  await runtime.execSync({ containerId });
  const release = fake.hang('execSync');
  const cutOff = runtime.execSync({ containerId }).catch((reason: unknown) => reason);
  await fake.waitForCall('execSync');
  await fake.waitForCall('execSync');
  server.stop();
  expect(isUnavailable(await cutOff)).toBe(true);
  release();
  expect(isUnavailable(await runtime.execSync({ containerId }).catch((reason: unknown) => reason))).toBe(true);
  await server.start({ socketPath });
  expect((await runtime.execSync({ containerId })).exitCode).toBe(0);
});
