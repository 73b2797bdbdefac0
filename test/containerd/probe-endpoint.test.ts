import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { probeEndpoint } from '../../src/containerd/probe-endpoint.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { startPlainGrpcServer } from '../support/plain-grpc-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a CRI runtime answers with its name and version', async () => {
  const socketPath = join(await temporaryFolder(), 'cri.sock');
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath });
  onTestFinished(() => {
    server.stop();
  });
  const { runtimeName, runtimeVersion } = await runtime.version({});
  expect(await probeEndpoint(`unix://${socketPath}`)).toEqual({ kind: 'answers', runtimeName, runtimeVersion });
});

test('a gRPC server without the CRI is distinguished from a runtime', async () => {
  const socketPath = join(await temporaryFolder(), 'grpc.sock');
  await startPlainGrpcServer(socketPath);
  expect((await probeEndpoint(`unix://${socketPath}`)).kind).toBe('no-cri');
});

test('a path without a file is absent', async () => {
  expect(await probeEndpoint(`unix://${await temporaryFolder()}/none.sock`)).toEqual({ kind: 'absent' });
});

test('a file that nobody listens on refuses', async () => {
  const path = join(await temporaryFolder(), 'stale.sock');
  await writeFile(path, '');
  expect(await probeEndpoint(`unix://${path}`)).toEqual({ kind: 'refused' });
});

test('a socket that this user may not connect to is denied', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'root.sock');
  const server = createServer().listen(path);
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  await chmod(folder, 0o755);
  await chmod(path, 0);
  const user = process.geteuid?.() ?? 0;
  if (user === 0) process.seteuid?.(65534);
  try {
    expect((await probeEndpoint(`unix://${path}`)).kind).toBe('denied');
  } finally {
    process.seteuid?.(user);
  }
});

test('a server that speaks something else fails with a reason', async () => {
  const path = join(await temporaryFolder(), 'other.sock');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  }).listen(path);
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  expect((await probeEndpoint(`unix://${path}`)).kind).toBe('failed');
});
