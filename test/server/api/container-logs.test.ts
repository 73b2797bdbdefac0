import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { ContainerState, ContainerStatusResponse } from '../../../src/cri/generated/cri.ts';
import { RpcError } from '../../../src/errors.ts';
import type { ApiEngine, ApiRuntime } from '../../../src/server/api/api-engine.ts';
import { handleContainerLogs, logInstance, parsePodLogOptions } from '../../../src/server/api/container-logs.ts';
import { patienceMs } from '../../../src/server/api/send-parts.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { apiDeps, ApiRig, engineWith, web } from './api-rig.ts';

test('the query of a log is read as the kubelet reads it', () => {
  const plain = { follow: false, previous: false, timestamps: false, stream: 'All' };
  const undecodable = { status: 400, text: '{"message": "Unable to decode query."}' };
  const invalid = { status: 422, text: '{"message": "Invalid request."}' };
  const sinceMs = Date.UTC(2024, 0, 2, 3, 4, 7, 123);
  const table: [string, ReturnType<typeof parsePodLogOptions>][] = [
    ['', plain],
    ['follow=x&timestamps=false', { ...plain, follow: true }],
    ['tail=all&tailLines=3', plain],
    ['tail=&tailLines=3', { ...plain, tailLines: 3 }],
    ['tailLines=all', undecodable],
    ['tailLines=1.5', undecodable],
    ['tailLines=99999999999999999999', undecodable],
    ['tailLines=-1', invalid],
    ['limitBytes=0', invalid],
    ['sinceSeconds=5', { ...plain, sinceMs: 5000 }],
    // Go's nanoseconds wrap in 64 bits.
    ['sinceSeconds=9223372036854775807', { ...plain, sinceMs: 11_000 }],
    ['sinceSeconds=5&sinceTime=2024-01-02T03:04:07Z', invalid],
    ['sinceSeconds=5&sinceTime=', invalid],
    ['sinceSeconds=5&sinceTime=null', invalid],
    ['sinceTime=x', undecodable],
    ['sinceTime=', plain],
    ['sinceTime=null', plain],
    ['sinceTime=2024-01-02T03:04:07.12345679Z', { ...plain, sinceMs, sinceExtraNs: 456_790 }],
    ['sinceTime=2024-01-02T3:04:07.123Z', { ...plain, sinceMs, sinceExtraNs: 0 }],
    ['sinceTime=2024-01-02T05:04:07,123%2B02:00', { ...plain, sinceMs, sinceExtraNs: 0 }],
    ['sinceTime=2024-01-03T03:04:07.123%2B24:00', { ...plain, sinceMs, sinceExtraNs: 0 }],
    ['sinceTime=2024-01-02T05:04:07.123%2B01:60', { ...plain, sinceMs, sinceExtraNs: 0 }],
    ['stream=Stderr', { ...plain, stream: 'Stderr' }],
    ['stream=', invalid],
    ['stream=Stderr&tailLines=1', invalid],
  ];
  expect(table.map(([query]) => [query, parsePodLogOptions(new URLSearchParams(query), 10_000)])).toEqual(table);
});

test('the instance to read is the running one, or the kubelet says why there is none', () => {
  expect([logInstance(web, 'a', false), logInstance(web, 'a', true), logInstance(web, 'b', false)]).toEqual([
    { id: 'id-a', containerID: 'containerd://id-a', runs: true },
    { problem: 'previous terminated container "a" in pod "web" not found' },
    { problem: 'container "b" in pod "web" is not available' },
  ]);
});

test('a container that vanished before its end was seen has no log', () => {
  const status = {
    name: 'a',
    image: 'img',
    imageID: '',
    ready: false,
    restartCount: 1,
    state: { waiting: { reason: 'ContainerCreating' } },
    lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
  };
  const pod = { ...web, status: { containerStatuses: [status] } };
  expect(logInstance(pod, 'a', false)).toEqual({ problem: 'container "a" in pod "web" is terminated' });
});

test('a single stream is refused without its gate, if the rest of the request is right', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const ask = (rest: string): Promise<string> => rig.short(`GET /containerLogs/default/${rest}`, { client });
  expect({
    invalid: await ask('web/a?stream=Stdout&tailLines=-1'),
    unknownStream: await ask('web/a?stream=x'),
    unknownPod: await ask('none/a?stream=Stdout'),
    unknownContainer: await ask('web/none?stream=Stdout'),
    refused: await ask('web/a?stream=Stdout'),
  }).toEqual({
    invalid: '422 {"message": "Invalid request."}',
    unknownStream: '422 {"message": "Invalid request."}',
    unknownPod: '404 pod "none" does not exist',
    unknownContainer: '404 container "none" not found in pod "web"',
    refused:
      '400 unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
  });
});

/** A runtime that keeps the log of every container at this path. They run, unless it says otherwise. */
function logAt(logPath: string, state: ContainerState = 'CONTAINER_RUNNING'): Partial<ApiRuntime> {
  const answer = { status: { logPath, state }, info: {} } as unknown as ContainerStatusResponse;
  return { containerStatus: () => Promise.resolve(answer) };
}

/** Head and body of the answer for the log of the running container, its chunks joined. */
async function logOf(runtime: Partial<ApiRuntime>, query = '', engine = engineWith([web])): Promise<string> {
  const rig = await ApiRig.open({ runtime, engine });
  const client = await rig.authority.issue('carol');
  const [status, body = ''] = (await rig.short(`GET /containerLogs/default/web/a${query}`, { client })).split(/ (.*)/s);
  expect(rig.problems).toEqual([]);
  return `${status ?? ''} ${body.replace(/[0-9a-f]+\r\n(.*?)\r\n/gs, '$1').replace(/\r\n$/, '')}`;
}

test('a log whose container the runtime does not know is an answer that says so', async () => {
  const unknown = (): Promise<never> => Promise.reject(new RpcError('ContainerStatus', 5, 'not found'));
  expect([
    await logOf({ containerStatus: unknown }),
    await logOf({ containerStatus: unknown }, '?follow=true'),
    await logOf({}),
  ]).toEqual([
    '200 unable to retrieve container logs for containerd://id-a',
    '200 unable to retrieve container logs for containerd://id-a',
    '200 container status is nil',
  ]);
});

test('a log that is missing is an answer with the part of its path that is missing', async () => {
  const folder = await temporaryFolder();
  const answers = [join(folder, '0.log'), join(folder, 'none', '0.log')].map((path) => logOf(logAt(path)));
  const text = (path: string, missing: string): string =>
    `200 failed to try resolving symlinks in path "${path}": lstat ${missing}: no such file or directory`;
  expect(await Promise.all(answers)).toEqual([
    text(join(folder, '0.log'), join(folder, '0.log')),
    text(join(folder, 'none', '0.log'), join(folder, 'none')),
  ]);
});

test('a log begins at a time to the nanosecond', async () => {
  const path = join(await temporaryFolder(), '0.log');
  const times = ['07.123456789Z', '07.12345679Z', '08.25Z'];
  await writeFile(path, times.map((time) => `2024-01-02T03:04:${time} stdout F ${time}\n`).join(''));
  expect([
    await logOf(logAt(path), '?sinceTime=2024-01-02T03:04:07.12345679Z'),
    await logOf(logAt(path), '?sinceTime=2024-01-02T03:04:07.1234568Z'),
    await logOf(logAt(path), '?sinceTime=null'),
  ]).toEqual(['200 07.12345679Z\n08.25Z\n', '200 08.25Z\n', `200 ${times.join('\n')}\n`]);
});

/** The logs of two starts of a container. Resolves with the path of the first. */
async function logsOfTwoStarts(): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, '0.log'), '2024-01-02T03:04:05Z stdout F first\n');
  await writeFile(join(folder, '1.log'), '2024-01-02T03:04:06Z stdout F second\n');
  return join(folder, '0.log');
}

test('a log is followed to the end of its instance, which ended before the pod had a status that says so', async () => {
  const ended = logAt(await logsOfTwoStarts(), 'CONTAINER_EXITED');
  expect(await logOf(ended, '?follow=true')).toBe('200 first\n');
});

type Listener = Parameters<ApiEngine['subscribe']>[0];

test('a log is followed to the end of its instance, which ends while the runtime is asked for its log', async () => {
  const listeners = new Set<Listener>();
  const engine = {
    ...engineWith([web]),
    subscribe: (listener: Listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const { containerStatus } = apiDeps(logAt(await logsOfTwoStarts())).runtime;
  const runtime: Partial<ApiRuntime> = {
    containerStatus: (...asked) => {
      const pod = { namespace: 'default', name: 'web', uid: 'uid-web' };
      for (const listener of listeners) listener({ at: 0, type: 'ContainerDied', pod, id: 'id-a', exitCode: 0 });
      return containerStatus(...asked);
    },
  };
  expect(await logOf(runtime, '?follow=true', engine)).toBe('200 first\n');
  expect(listeners.size).toBe(0);
});

test('a client that does not read its log is disconnected', async () => {
  const path = join(await temporaryFolder(), '0.log');
  // More than the buffers of both sides hold.
  await writeFile(path, `2024-01-02T03:04:05Z stdout F ${'x'.repeat(16_000)}\n`.repeat(2000));
  const clock = new FakeClock();
  const { runtime } = apiDeps(logAt(path));
  const deps = { engine: engineWith([web]), runtime, splitStreams: false, clock };
  const params = { namespace: 'default', pod: 'web', container: 'a' };
  const server = createServer((request, response) => {
    handled = handleContainerLogs(deps, { request, response, params, rest: [], query: new URLSearchParams() });
  }).listen(0, '127.0.0.1');
  let handled: Promise<void> | undefined;
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const closed = once(server, 'connection').then(([connection]) => once(connection as typeof socket, 'close'));
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: node\r\n\r\n');
  while (clock.pending === 0) await nextTurn();
  await clock.advance(patienceMs);
  await closed;
  await handled;
  expect(clock.pending).toBe(0);
  socket.destroy();
});

test('a client that leaves before its log is read leaves no listener', async () => {
  let listeners = 0;
  const subscribe = (): (() => void) => {
    listeners += 1;
    return () => void (listeners -= 1);
  };
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const asked = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: node\r\n\r\n');
  const [request, response] = await asked;
  const gone = once(response, 'close');
  // The log is missing, so the runtime is asked for it.
  const reopenContainerLog = async (): Promise<object> => {
    socket.destroy();
    await gone;
    return {};
  };
  const { runtime } = apiDeps({ ...logAt(join(await temporaryFolder(), 'none')), reopenContainerLog });
  const deps = { engine: { ...engineWith([web]), subscribe }, runtime, splitStreams: false, clock: new FakeClock() };
  const params = { namespace: 'default', pod: 'web', container: 'a' };
  await handleContainerLogs(deps, { request, response, params, rest: [], query: new URLSearchParams('follow=true') });
  expect(listeners).toBe(0);
});
