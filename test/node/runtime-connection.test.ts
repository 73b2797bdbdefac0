import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { launchLine } from '../../src/containerd/containerd-log.ts';
import { managedPaths, type ManagedPaths } from '../../src/containerd/managed-paths.ts';
import { recordRuntime } from '../../src/node/last-runtime.ts';
import { connectToRuntime } from '../../src/node/runtime-connection.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { startFakeAgent } from '../commands/fake-agent.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let rootDir: string;
let paths: ManagedPaths;
beforeEach(async () => {
  rootDir = await temporaryFolder();
  paths = managedPaths(rootDir);
  await mkdir(paths.base);
  await writeFile(paths.configFile, '');
});

async function startContainerd(socketPath = paths.socket): Promise<FakeCriServer> {
  const server = new FakeCriServer(new FakeRuntime({ clock: new FakeClock() }));
  await server.start({ socketPath });
  onTestFinished(() => {
    server.stop();
  });
  return server;
}

test('a command gives up a managed containerd that takes connections and does not answer', async () => {
  const containerd = await startContainerd();
  containerd.pause();
  await expect(connectToRuntime({ rootDir }, 100)).rejects.toMatchObject({
    message: `the container runtime at ${paths.endpoint} did not answer within 0.1 s`,
    hint: `It is stopped or overloaded. Read its log: ${paths.logFile}`,
  });
});

test('a command is connected to a managed containerd that answers', async () => {
  await startContainerd();
  const connection = await connectToRuntime({ rootDir });
  expect(await connection.runtime.listPodSandbox({})).toEqual({ items: [] });
  connection.close();
});

test('a managed containerd that does not run is started by the agent', async () => {
  await expect(connectToRuntime({ rootDir })).rejects.toMatchObject({
    message: `no container runtime answers at ${paths.endpoint}`,
    hint: 'kubelet-ts run starts it.',
  });
});

test.each([
  [
    'its database cannot be read',
    'panic: invalid freelist page: 0, page type is unknown<00>\ngo.etcd.io/bbolt.Open()\n',
  ],
  [
    'its snapshotter cannot be loaded',
    'time="t" level=warning msg="failed to load plugin io.containerd.snapshotter.v1.overlayfs" error="invalid database"\n',
  ],
])('a managed containerd with a damaged store is named, with its cure: %s', async (_case, log) => {
  await writeFile(paths.logFile, log);
  await expect(connectToRuntime({ rootDir })).rejects.toMatchObject({
    name: 'UserError',
    message: `The managed containerd does not run, because its store is damaged: ${log.split('\n')[0] ?? ''}`,
    hint: `Set the damaged store of containerd aside and start again: kubelet-ts repair-store --root-dir ${rootDir}`,
  });
});

test.each([
  ['a pull that broke off', 'time="t" level=error msg="PullImage failed" error="blobs/sha256:1: unexpected EOF"\n'],
  ['an earlier launch', `panic: invalid page\ngo.etcd.io/bbolt.Open()\n${launchLine}\n`],
])('%s is not damage of the store', async (_case, log) => {
  await writeFile(paths.logFile, log);
  await expect(connectToRuntime({ rootDir })).rejects.toMatchObject({ hint: 'kubelet-ts run starts it.' });
});

test('a command uses the runtime of the agent, which only its configuration may name', async () => {
  const socket = join(rootDir, 'crio.sock');
  await startContainerd(socket);
  const asked = await startFakeAgent(rootDir, { '/v1/agent': { pid: 1, runtimeEndpoint: `unix://${socket}` } });
  const connection = await connectToRuntime({ rootDir });
  expect(await connection.runtime.listPodSandbox({})).toEqual({ items: [] });
  connection.close();
  expect(asked).toEqual([['GET /v1/agent?runtime']]);
});

test('the managed containerd of an agent is checked as without the agent', async () => {
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 1, runtimeEndpoint: paths.endpoint } });
  await expect(connectToRuntime({ rootDir })).rejects.toMatchObject({
    message: `no container runtime answers at ${paths.endpoint}`,
  });
});

test('a flag goes before the runtime of the agent', async () => {
  const socket = join(rootDir, 'crio.sock');
  await startContainerd(socket);
  const asked = await startFakeAgent(rootDir, { '/v1/agent': { pid: 1, runtimeEndpoint: 'unix:///nowhere.sock' } });
  const connection = await connectToRuntime({ rootDir, containerRuntimeEndpoint: socket });
  expect(await connection.runtime.listPodSandbox({})).toEqual({ items: [] });
  connection.close();
  expect(asked).toEqual([]);
});

test('an agent that does not know its runtime yet changes nothing', async () => {
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 1 } });
  await startContainerd();
  const connection = await connectToRuntime({ rootDir });
  expect(await connection.runtime.listPodSandbox({})).toEqual({ items: [] });
  connection.close();
});

test('the runtime of an agent that was removed is named', async () => {
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 1, runtimeEndpoint: 'unix:///nowhere.sock' } });
  await expect(connectToRuntime({ rootDir })).rejects.toMatchObject(gone);
});

test('the runtime of the last agent is used, and no other one if that was removed', async () => {
  await startContainerd();
  await recordRuntime(rootDir, { endpoint: 'unix:///nowhere.sock', managed: false }, silentLogger);
  await expect(connectToRuntime({ rootDir })).rejects.toMatchObject(gone);
});

const gone = {
  message: 'The container runtime endpoint unix:///nowhere.sock does not exist',
  hint: 'Start the runtime. If it is gone for good, name another by --container-runtime-endpoint.',
};

/** An agent that gives every request this answer. */
async function startAgentAnswering(status: number, body: string): Promise<void> {
  const agent = createServer((_request, response) => {
    response.writeHead(status).end(body);
  });
  await mkdir(dirname(controlSocketPath(rootDir)), { recursive: true, mode: 0o700 });
  agent.listen(controlSocketPath(rootDir));
  await once(agent, 'listening');
  onTestFinished(() => {
    agent.closeAllConnections();
    agent.close();
  });
}

test('next to an agent that starts, the runtime is chosen as without it', async () => {
  await startContainerd();
  await startAgentAnswering(202, 'importing images');
  const connection = await connectToRuntime({ rootDir });
  expect(await connection.runtime.listPodSandbox({})).toEqual({ items: [] });
  connection.close();
});

test('next to an agent that waits for its runtime, no other one is used', async () => {
  await startContainerd();
  await startAgentAnswering(503, 'unix:///run/crio/crio.sock does not exist');
  await expect(connectToRuntime({ rootDir })).rejects.toMatchObject({
    message: 'kubelet-ts waits for its runtime: unix:///run/crio/crio.sock does not exist',
    hint: 'Start the runtime.',
  });
});
