import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openOwnRuntime } from '../../src/node/runtime-connection.ts';
import { unreadyBecause } from '../../src/node/find-runtime.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function setUp() {
  const folder = await temporaryFolder();
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  const server = new FakeCriServer(runtime);
  const socketPath = join(folder, 'cri.sock');
  await server.start({ socketPath });
  onTestFinished(() => {
    server.stop();
  });
  const endpoint = `unix://${socketPath}`;
  return { runtime, endpoint, rootDir: join(folder, 'ours'), otherRootDir: join(folder, 'others') };
}

async function makePodOf(rootDir: string, endpoint: string): Promise<void> {
  const keeper = { rootDir, makesPods: true, signal: new AbortController().signal };
  const connection = await openOwnRuntime(endpoint, keeper);
  const metadata = { name: 'web', namespace: 'default', uid: rootDir, attempt: 0 };
  await connection.runtime.runPodSandbox({ config: { metadata, logDirectory: '/logs' } });
  connection.close();
}

test('a runtime with a network is ready', async () => {
  const { endpoint, rootDir } = await setUp();
  expect(await unreadyBecause(endpoint, rootDir)).toBeUndefined();
});

test('a runtime without a network is not, even with pods of others', async () => {
  const { runtime, endpoint, rootDir, otherRootDir } = await setUp();
  await makePodOf(otherRootDir, endpoint);
  runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
  expect(await unreadyBecause(endpoint, rootDir)).toBe('cni plugin not initialized');
});

test('pods of ours stay where they are', async () => {
  const { runtime, endpoint, rootDir } = await setUp();
  await makePodOf(rootDir, endpoint);
  runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
  expect(await unreadyBecause(endpoint, rootDir)).toBeUndefined();
});

test('one that does not answer is not judged', async () => {
  const { rootDir } = await setUp();
  expect(await unreadyBecause('unix:///nowhere.sock', rootDir)).toBeUndefined();
});
