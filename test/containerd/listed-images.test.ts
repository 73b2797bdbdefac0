import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { withListedImages } from '../../src/containerd/listed-images.ts';
import { waitUntilReady } from '../../src/containerd/wait-until-ready.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { signal } = new AbortController();

test('a runtime that was restarted answers the next look once it is ready', async () => {
  const socketPath = join(await temporaryFolder(), 'c.sock');
  const runtime = new FakeRuntime({ clock: systemClock });
  runtime.addImage('localhost/app:1');
  const server = new FakeCriServer(runtime);
  onTestFinished(() => {
    server.stop();
  });
  await server.start({ socketPath });
  const looks = await withListedImages(`unix://${socketPath}`, async (isListed) => {
    const before = [await isListed('localhost/app:1', signal), await isListed('localhost/other:1', signal)];
    server.stop();
    await nextTurn();
    // The first failure is that of the lost connection, the second that of a new one.
    for (let failures = 0; failures < 2; failures++)
      await expect(isListed('localhost/app:1', signal)).rejects.toMatchObject({ name: 'RpcError' });
    await server.start({ socketPath });
    await waitUntilReady(socketPath, { clock: systemClock, signal, timeoutMs: 60_000 });
    return [...before, await isListed('localhost/app:1', signal)];
  });
  expect(looks).toEqual([true, false, true]);
});
