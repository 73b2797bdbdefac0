import { once } from 'node:events';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { boundedText } from '../../src/text/bounded-text.ts';
import { codes } from '../../src/cri/errors.ts';
import { openChannel } from '../../src/cri/grpc-channel.ts';
import { grpcService } from '../../src/cri/grpc-service.ts';
import { RegistrationDefinition } from '../../src/plugins/generated/device-plugin.ts';
import { PodResourcesListerDefinition } from '../../src/plugins/generated/pod-resources.ts';
import { serveUnixGrpc } from '../../src/plugins/unix-grpc-server.ts';
import { openPlugins } from '../../src/plugins/open-plugins.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function serve(clock = new FakeClock()): Promise<string> {
  const path = join(await temporaryFolder(), 'pod-resources', 'kubelet.sock');
  const server = await openPlugins({ faults: silentFaults(), clock }).servePodResources(path, {
    list: () => [{ name: 'web' }],
    getAllocatableResources: () => ({ cpuIds: [1n] }),
    get: () => {
      throw new Error('PodResources API Get method disabled');
    },
  });
  onTestFinished(() => {
    server.close();
  });
  return path;
}

function client(path: string) {
  const channel = openChannel(path);
  onTestFinished(() => {
    channel.close();
  });
  return grpcService(channel, PodResourcesListerDefinition, () => 5000);
}

test('the socket is for its owner alone, and takes the place of an old file', async () => {
  const path = await serve();
  expect(((await stat(path)).mode & 0o777).toString(8)).toBe('600');
  const other = join(await temporaryFolder(), 'kubelet.sock');
  await writeFile(other, 'of an earlier agent');
  const lister = { list: () => [], getAllocatableResources: () => ({}), get: () => ({}) };
  const server = await openPlugins({ faults: silentFaults(), clock: new FakeClock() }).servePodResources(other, lister);
  expect((await stat(other)).isSocket()).toBe(true);
  server.close();
});

test('a socket that cannot take its place is closed', async () => {
  const path = join(await temporaryFolder(), 'kubelet.sock');
  await mkdir(path);
  const lister = { list: () => [], getAllocatableResources: () => ({}), get: () => ({}) };
  const plugins = openPlugins({ faults: silentFaults(), clock: new FakeClock() });
  await expect(plugins.servePodResources(path, lister)).rejects.toMatchObject({ code: 'EISDIR' });
  await expect(once(connect(`${path}.new`), 'connect')).rejects.toMatchObject({ code: 'ENOENT' });
});

test('answers, and errors in the words of the kubelet', async () => {
  const service = client(await serve());
  expect(await service.list({})).toMatchObject({ podResources: [{ name: 'web' }] });
  expect(await service.getAllocatableResources({})).toMatchObject({ cpuIds: [1n] });
  await expect(service.get({})).rejects.toMatchObject({ code: 2, message: 'PodResources API Get method disabled' });
});

test('the older v1alpha1 is not served', async () => {
  const channel = openChannel(await serve());
  onTestFinished(() => {
    channel.close();
  });
  const definition = { ...PodResourcesListerDefinition, fullName: 'v1alpha1.PodResourcesLister' } as const;
  const unimplemented = 12;
  await expect(grpcService(channel, definition, () => 5000).list({})).rejects.toMatchObject({ code: unimplemented });
});

test('a refusal that quotes an endless text is answered, and cut', async () => {
  const path = join(await temporaryFolder(), 'device-plugins', 'kubelet.sock');
  const server = await openPlugins({ faults: silentFaults(), clock: new FakeClock() }).serveDeviceRegistration(
    path,
    ({ resourceName }) => Promise.reject(new Error(`the ResourceName "${resourceName}" is invalid`)),
  );
  onTestFinished(() => {
    server.close();
  });
  const channel = openChannel(path);
  onTestFinished(() => {
    channel.close();
  });
  const service = grpcService(channel, RegistrationDefinition, () => 5000);
  await expect(service.register({ resourceName: 'é'.repeat(20_000) })).rejects.toMatchObject({
    code: 2,
    message: boundedText(`the ResourceName "${'é'.repeat(20_000)}" is invalid`, 4096),
  });
  await expect(service.register({ resourceName: 'x' })).rejects.toMatchObject({
    message: 'the ResourceName "x" is invalid',
  });
});

test('answers 10 of 40 calls at once, and 100 a second from then on', async () => {
  const clock = new FakeClock();
  const service = client(await serve(clock));
  const refusals = async (): Promise<string[]> => {
    const answers = await Promise.allSettled(Array.from({ length: 40 }, () => service.list({})));
    return answers.flatMap((answer) => (answer.status === 'rejected' ? [(answer.reason as Error).message] : []));
  };
  expect(await refusals()).toEqual(Array(30).fill('rejected by rate limit'));
  await clock.advance(50);
  expect(await refusals()).toEqual(Array(35).fill('rejected by rate limit'));
});

test('garbage and clients that hang up harm no other client', async () => {
  const path = await serve();
  for (const bytes of [
    'GET / HTTP/1.1\r\n\r\n',
    '\0'.repeat(100_000),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff',
  ]) {
    const socket = connect(path);
    socket.on('error', () => undefined);
    socket.write(bytes);
    await once(socket, 'connect');
    socket.destroy();
  }
  expect(await client(path).list({})).toMatchObject({ podResources: [{ name: 'web' }] });
});

test('silent connections keep nobody out: the longest silent one makes room', async () => {
  const path = await serve();
  const closed: number[] = [];
  const silent = Array.from({ length: 64 }, (_, index) => {
    const socket = connect(path);
    socket.on('error', () => undefined).resume();
    return { socket, gone: once(socket, 'close').then(() => closed.push(index)) };
  });
  onTestFinished(() => {
    for (const { socket } of silent) socket.destroy();
  });
  await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
  const service = client(path);
  expect(await service.list({})).toMatchObject({ podResources: [{ name: 'web' }] });
  await silent[0]?.gone;
  const late = connect(path).on('error', () => undefined);
  onTestFinished(() => void late.destroy());
  await silent[1]?.gone;
  expect(await service.list({})).toMatchObject({ podResources: [{ name: 'web' }] });
  expect(closed).toEqual([0, 1]);
});

/** The beginning of HTTP/2 with empty settings, and the server's answer to these. */
const greeting = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
const settingsTaken = Buffer.from([0, 0, 0, 4, 1, 0, 0, 0, 0]);

/** Connects, and resolves once the server has read what the client says, or has closed the connection. */
function greet(path: string): Promise<'served' | 'closed'> {
  const socket = connect(path).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(greeting);
  let answer = Buffer.alloc(0);
  return new Promise((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      answer = Buffer.concat([answer, bytes]);
      if (answer.includes(settingsTaken)) resolve('served');
    });
    socket.on('close', () => {
      resolve('closed');
    });
  });
}

test('a newcomer is served when all others have spoken since the last look', async () => {
  const path = await serve();
  const clients = await Promise.all(Array.from({ length: 64 }, () => greet(path)));
  expect([...clients, await greet(path)]).toEqual(Array(65).fill('served'));
});

test('a connection without a call is closed after a while', async () => {
  const path = join(await temporaryFolder(), 'kubelet.sock');
  const server = await serveUnixGrpc(path, { services: [], faults: silentFaults(), idleMs: 50 });
  onTestFinished(() => {
    server.close();
  });
  const silent = connect(path);
  silent.resume();
  expect(await once(silent, 'close')).toEqual([false]);
});

test('a request of more than 64 KiB is refused', async () => {
  const service = client(await serve());
  const long = service.get({ podName: 'x'.repeat(65 * 1024) });
  await expect(long).rejects.toMatchObject({ code: codes.resourceExhausted });
  await expect(service.get({ podName: 'x'.repeat(60 * 1024) })).rejects.toMatchObject({ code: 2 });
});

test('a path that is too long for a socket is a mistake that names its remedy', async () => {
  const lister = { list: () => [], getAllocatableResources: () => ({}), get: () => ({}) };
  const serving = openPlugins({ faults: silentFaults(), clock: new FakeClock() }).servePodResources(
    `/tmp/${'x'.repeat(110)}`,
    lister,
  );
  await expect(serving).rejects.toMatchObject({ name: 'UserError', hint: 'Choose a shorter --root-dir.' });
});
