import { RequestRefused } from '../../../src/errors.ts';
import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { request, type IncomingMessage } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { WorkloadRequest } from '../../../src/engine/workloads/workload-operations.ts';
import type { PodName } from '../../../src/api/values/pod-names.ts';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import type { HistoryEntry } from '../../../src/engine/history/history-entry.ts';
import type { SummaryRequest } from '../../../src/engine/stats/stats-provider.ts';
import {
  type EphemeralRequest,
  type OperationRequest,
  type RevisionSummary,
} from '../../../src/engine/operations/operation.ts';
import type { Summary } from '../../../src/engine/stats/summary.ts';
import type { EngineSnapshot } from '../../../src/engine/view/snapshot.ts';
import {
  addEphemeralContainer,
  fetchAgent,
  fetchHistory,
  fetchRevisions,
  fetchRuntimeEndpoint,
  fetchSnapshot,
  fetchStats,
  followEvents,
  operate,
  removeEphemeralContainer,
  requestShutdown,
  waitForEnd,
} from '../../../src/server/control/control-client.ts';
import { holderText } from '../../../src/files/file-lock.ts';
import type { ControlledEngine } from '../../../src/server/control/control-route.ts';
import type { ControlGroup } from '../../../src/server/control/group-socket.ts';
import type { Logger } from '../../../src/logger.ts';
import type { Faults } from '../../../src/flow/faults.ts';
import { maxConnections, serveControlSocket } from '../../../src/server/control/control-socket.ts';
import { programVersion } from '../../../src/process/program-version.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ownAgent = { pid: process.pid, version: programVersion };
const snapshot: EngineSnapshot = {
  nodeName: 'edge1',
  startedAt: 1,
  runtime: { endpoint: '/run/cri.sock', chosenBecause: 'it is there', name: 'fake', version: '1' },
  pressures: [],
  pleg: { mode: 'generic' },
  sources: [],
  faults: [],
  pods: [],
};

const history: HistoryEntry[] = [
  {
    kind: 'event',
    podUID: 'u1',
    eventType: 'Normal',
    reason: 'Pulled',
    message: 'Pulled',
    count: 1,
    firstAt: 1,
    lastAt: 1,
  },
];

/** An engine as far as the socket sees it. */
class View implements ControlledEngine {
  /** The message is the request. */
  operate(request: OperationRequest): Promise<string> {
    const { name } = request.pod;
    if (name === 'gone') throw new RequestRefused('missing', 'no manifest declares pod default/gone', 'Look.');
    return Promise.resolve(JSON.stringify(request));
  }
  operateWorkload(request: WorkloadRequest): Promise<string> {
    return Promise.resolve(JSON.stringify(request));
  }
  addEphemeralContainer(pod: PodName, request: EphemeralRequest): Promise<string> {
    return Promise.resolve(JSON.stringify({ pod, ...request }));
  }
  removeEphemeralContainer(pod: PodName, container: string): Promise<string> {
    if (container === 'gone') throw new RequestRefused('missing', 'pod web-edge1 has no ephemeral container gone');
    return Promise.resolve(JSON.stringify({ pod, container }));
  }
  declarerOf(): undefined {
    return undefined;
  }

  pastRevisions(): RevisionSummary[] {
    return [{ revision: 1, takenAt: 1, from: 'a.yaml', images: { app: 'app:1' }, wasReady: true, isCurrent: true }];
  }
  readonly listeners = new Set<(event: KubeletEvent) => void>();
  snapshot(): EngineSnapshot {
    return snapshot;
  }
  readonly settling = new EventEmitter();
  async settled(): Promise<void> {
    this.settling.emit('asked');
    await once(this.settling, 'settled');
  }
  history({ namespace, name }: { namespace: string; name: string }): Promise<HistoryEntry[]> {
    return Promise.resolve(namespace === 'default' && name === 'web-edge1' ? history : []);
  }
  /** The name of the node is the request. */
  summary(request: SummaryRequest): Promise<Summary> {
    return Promise.resolve({ node: { nodeName: JSON.stringify(request), startTime: '' }, pods: [] });
  }
  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }
}

let path: string;
let view: View;
let shutdowns: number;
let waitsFor: string | undefined;
let starts: string | undefined;
let shared: { path: string; group: ControlGroup | undefined } | undefined;
/** Each control request that was logged, and the group of its socket. */
let logged: unknown[];

/** A log that keeps its entries with the bindings of the child that wrote them. */
const loggerOf = (bindings: object): Logger => ({
  ...silentLogger,
  info: (facts: { path: string }) => void logged.push({ ...bindings, path: facts.path }),
  child: (more) => loggerOf({ ...bindings, ...more }),
});

beforeEach(async () => {
  path = join(await temporaryFolder(), 'agent', 'kubelet-ts.sock');
  view = new View();
  shutdowns = 0;
  waitsFor = undefined;
  starts = undefined;
  shared = undefined;
  logged = [];
});

/** An agent of another process, which is stopped once it listens. */
async function serveStopped(): Promise<void> {
  await mkdir(join(path, '..'));
  const child = spawn(
    process.execPath,
    ['-e', `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log())`],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  await symlink(await holderText(child.pid ?? 0), `${path}.holder`);
}

async function serve(
  engine: Promise<View> = Promise.resolve(view),
  {
    signal = new AbortController().signal,
    runtimeFound = Promise.resolve(),
    faults: given = undefined as Pick<Faults, 'record'> | undefined,
  } = {},
) {
  const server = await serveControlSocket(path, {
    metrics: { text: (page) => Promise.resolve(Buffer.from(`text of ${page}\n`)) },
    faults: given ?? silentFaults(),
    logger: loggerOf({}),
    signal,
    runtimeFound,
    ...(shared && { shared }),
    view: engine,
    waitsFor: () => waitsFor,
    starts: () => starts,
    shutdown: () => {
      shutdowns += 1;
    },
  });
  onTestFinished(() => server.close());
  return server;
}

/** Resolves when the engine has this many listeners. */
async function untilListeners(count: number): Promise<void> {
  while (view.listeners.size !== count) await new Promise((resolve) => setImmediate(resolve));
}

/** Settles the engine as soon as the request waits for it. */
const settleNext = (): void => {
  setImmediate(() => view.settling.emit('settled'));
};

const ready: KubeletEvent = { at: 5, type: 'RuntimeReady', name: 'fake', version: '1' };

describe('the socket', () => {
  test('an action waits until the engine has read what is on disk', async () => {
    await serve();
    const asked = once(view.settling, 'asked');
    const answers: string[] = [];
    const stopped = operate(path, { namespace: 'default', name: 'web-edge1' }, 'stop').then(() => answers.push('stop'));
    await asked;
    await fetchSnapshot(path).then(() => answers.push('snapshot'));
    view.settling.emit('settled');
    await stopped;
    expect(answers).toEqual(['snapshot', 'stop']);
  });

  test('passes actions on pods to the engine, and refusals back', async () => {
    await serve();
    view.settling.on('asked', settleNext);
    const pod = { namespace: 'default', name: 'web-edge1' };
    const asked = await operate(path, pod, 'rollback', { to: 3 });
    expect(JSON.parse(asked ?? '')).toEqual({ action: 'rollback', pod, to: 3 });
    expect(await fetchRevisions(path, pod)).toEqual(view.pastRevisions());
    const refused = operate(path, { ...pod, name: 'gone' }, 'stop');
    await expect(refused).rejects.toMatchObject({ message: 'no manifest declares pod default/gone', hint: 'Look.' });
  });

  test('adds and removes ephemeral containers', async () => {
    await serve();
    view.settling.on('asked', settleNext);
    const pod = { namespace: 'default', name: 'web-edge1' };
    const container = { name: 'tools', image: 'busybox', command: ['sh'] };
    const added = await addEphemeralContainer(path, pod, container, true);
    expect(JSON.parse(added ?? '')).toEqual({ pod, json: JSON.stringify(container), removesAtEnd: true });
    const removed = await removeEphemeralContainer(path, pod, 'tools');
    expect(JSON.parse(removed ?? '')).toEqual({ pod, container: 'tools' });
    const refused = removeEphemeralContainer(path, pod, 'gone');
    await expect(refused).rejects.toThrow('pod web-edge1 has no ephemeral container gone');
  });

  test('tells the usage of the node, as old as may be', async () => {
    await serve();
    const asked = [
      await fetchStats(path, { maxAgeMs: 15_000 }),
      await fetchStats(path, { maxAgeMs: 0, cpuAndMemoryOnly: true }),
    ];
    expect(asked.map((summary) => JSON.parse(summary?.node.nodeName ?? '') as unknown)).toEqual([
      { maxAgeMs: 15_000, cpuAndMemoryOnly: false },
      { maxAgeMs: 0, cpuAndMemoryOnly: true },
    ]);
  });

  test('tells what happened to the pod that is asked for', async () => {
    await serve();
    expect(await fetchHistory(path, { namespace: 'default', name: 'web-edge1' })).toEqual(history);
    expect(await fetchHistory(path, { namespace: 'other', name: 'web-edge1' })).toEqual([]);
  });

  test('may be opened by its owner only, and so may its folder', async () => {
    await serve();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(path, '..'))).toEqual(['kubelet-ts.sock', 'kubelet-ts.sock.holder', 'start.lock']);
  });

  test('refuses a second agent, and the first one does not notice', async () => {
    await serve();
    await expect(serve()).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringContaining(`pid ${process.pid}`) as string,
    });
    expect(await fetchAgent(path)).toEqual(ownAgent);
  });

  test('names the runtime of the agent, once the agent has one', async () => {
    await serve();
    expect(await fetchRuntimeEndpoint(path)).toBe('/run/cri.sock');
    waitsFor = 'no socket';
    await expect(fetchRuntimeEndpoint(path)).rejects.toThrow('kubelet-ts waits for its runtime: no socket');
    expect(await fetchAgent(path)).toEqual(ownAgent);
  });

  test('refuses a second agent while the first is still starting', async () => {
    await serve(new Promise(() => undefined));
    await expect(serve()).rejects.toThrow('already runs');
  });

  test('is there at once after an agent that was killed while it took the name', async () => {
    const lock = join(path, '..', 'start.lock');
    await mkdir(lock, { recursive: true });
    await symlink(`${process.pid} 1`, join(lock, '3'));
    await serve();
    expect(await fetchAgent(path)).toEqual(ownAgent);
    expect(await readdir(lock)).toEqual(['4']);
  });

  test('refuses a second agent while the first is stopped, and says which process that is', async () => {
    await serveStopped();
    await expect(serve()).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(
        /^kubelet-ts already runs on this root-dir: kubelet-ts \(pid \d+, stopped\) does not answer$/,
      ) as string,
      hint: expect.stringMatching(/^Continue it: kill -CONT \d+\./) as string,
    });
  });

  test('gives up at once when it is not wanted any more, also while it asks the first agent', async () => {
    await serveStopped();
    const stopping = new AbortController();
    const started = serve(Promise.resolve(view), { signal: stopping.signal });
    stopping.abort(new Error('SIGTERM'));
    await expect(started).rejects.toThrow('SIGTERM');
  });

  test('has a second one for a group, whose requests are logged as such, until it closes', async () => {
    const group = { name: 'ops', gid: 12_345 };
    shared = { path: join(path, '../../control/default/kubelet-ts.sock'), group };
    const { close } = await serve();
    for (const [index, socket] of [shared.path, path].entries()) {
      await requestShutdown(socket);
      // The entry comes after the answer.
      while (logged.length <= index) await new Promise((resolve) => setImmediate(resolve));
    }
    expect({ logged, shutdowns }).toEqual({
      logged: [{ group: 'ops', path: '/v1/shutdown' }, { path: '/v1/shutdown' }],
      shutdowns: 2,
    });
    await close();
    expect(await readdir(join(shared.path, '../..'))).toEqual([]);
  });

  test('has a limit of connections of its own, also next to a flood on that of a group', async () => {
    shared = { path: join(path, '../../control/default/kubelet-ts.sock'), group: { name: 'ops', gid: 12_345 } };
    await serve();
    const open = async (socketPath: string): Promise<Socket> => {
      const socket = connect(socketPath).on('error', () => undefined);
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      return socket;
    };
    const silent = await Promise.all(Array.from({ length: maxConnections }, () => open(shared?.path ?? '')));
    const refused = await open(shared.path);
    await once(refused.resume(), 'close');
    expect(silent.map(({ destroyed }) => destroyed)).toEqual(silent.map(() => false));
    const own = await open(path);
    own.write('GET /v1/agent HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = (await once(own.setEncoding('utf8'), 'data')) as [string];
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 200 OK');
  });

  test('has no second one for a group any more once the agent runs without', async () => {
    shared = { path: join(path, '../../control/default/kubelet-ts.sock'), group: undefined };
    await mkdir(join(shared.path, '..'), { recursive: true });
    await serve();
    expect(await readdir(join(shared.path, '../..'))).toEqual([]);
  });

  test('is closed if the socket of the group cannot be created', async () => {
    await mkdir(join(path, '..'));
    await writeFile(join(path, '../control'), '');
    shared = { path: join(path, '../control/default/kubelet-ts.sock'), group: { name: 'ops', gid: 12_345 } };
    await expect(serve()).rejects.toThrow('the control socket for the group ops cannot be created: ');
    expect(await fetchAgent(path)).toBeUndefined();
  });

  test('takes the place of one that a killed agent left', async () => {
    const left = createServer();
    const folder = await temporaryFolder();
    path = join(folder, 'left.sock');
    left.listen(path);
    await once(left, 'listening');
    await closeKeepingSocket(left);
    expect(await fetchAgent(path)).toBeUndefined();
    await serve();
    expect(await fetchSnapshot(path)).toEqual({ pid: process.pid, ...snapshot });
  });

  /** A path of a socket with this many bytes, in a folder of its own. */
  async function pathOf(bytes: number): Promise<string> {
    const folder = await temporaryFolder();
    return join(folder, 'x'.repeat(bytes - Buffer.byteLength(folder) - '//kubelet-ts.sock'.length), 'kubelet-ts.sock');
  }

  test('may have a path that is as long as the kernel takes, and so may that of a group', async () => {
    path = await pathOf(107);
    shared = { path: await pathOf(107), group: { name: 'ops', gid: 12_345 } };
    await serve();
    const agent = ownAgent;
    expect([await fetchAgent(path), await fetchAgent(shared.path)]).toEqual([agent, agent]);
    expect([await readdir(join(path, '..')), await readdir(join(shared.path, '..'))]).toEqual([
      ['kubelet-ts.sock', 'kubelet-ts.sock.holder', 'start.lock'],
      ['kubelet-ts.sock', 'kubelet-ts.sock.holder'],
    ]);
  });

  test('cannot have a path that is longer than the kernel takes', async () => {
    path = await pathOf(108);
    await expect(serve()).rejects.toMatchObject({
      name: 'UserError',
      message: `the path of the control socket is too long: ${path} has 108 bytes, but the kernel accepts 107`,
      hint: 'Choose a shorter --root-dir.',
    });
    expect(await readdir(join(path, '../..'))).toEqual([]);
  });

  test('is refused for a path of the group that is longer than the kernel takes', async () => {
    shared = { path: await pathOf(108), group: { name: 'ops', gid: 12_345 } };
    await expect(serve()).rejects.toMatchObject({
      name: 'UserError',
      message: `the path of the control socket is too long: ${shared.path} has 108 bytes, but the kernel accepts 107`,
    });
    expect([await readdir(join(path, '../..')), await readdir(join(shared.path, '../..'))]).toEqual([[], []]);
  });

  /** Ends the server as a kill does: its socket stays, and nobody answers on it. */
  async function closeKeepingSocket(server: Server): Promise<void> {
    server.close();
    await once(server, 'close');
    await writeFile(path, '');
    await chmod(path, 0o600);
  }
});

describe('a reader', () => {
  test('finds nobody where there is no socket', async () => {
    expect(await fetchAgent(path)).toBeUndefined();
    expect(await fetchSnapshot(path)).toBeUndefined();
    expect(await requestShutdown(path)).toBe(false);
    await waitForEnd(path);
  });

  test('gets the snapshot, once there is an engine', async () => {
    let built = (_view: View): void => undefined;
    await serve(
      new Promise((resolve) => {
        built = resolve;
      }),
    );
    const asked = fetchSnapshot(path);
    expect(await fetchAgent(path)).toEqual(ownAgent);
    built(view);
    expect(await asked).toEqual({ pid: process.pid, ...snapshot });
  });

  test('gets the snapshot of what is on disk once the engine has read that', async () => {
    await serve();
    const answers: string[] = [];
    const asked = once(view.settling, 'asked');
    const settled = fetchSnapshot(path, { waits: true, settled: true }).then(() => answers.push('settled'));
    await asked;
    await fetchSnapshot(path).then(() => answers.push('at once'));
    view.settling.emit('settled');
    await settled;
    expect(answers).toEqual(['at once', 'settled']);
  });

  test('follows the events from then on, and is dropped when it disconnects', async () => {
    await serve();
    const stopping = new AbortController();
    const events = followEvents(path, stopping.signal);
    const first = events.next();
    await untilListeners(1);
    for (const listener of view.listeners) listener(ready);
    expect(await first).toEqual({ done: false, value: ready });
    stopping.abort();
    expect(await events.next()).toEqual({ done: true, value: undefined });
    await untilListeners(0);
  });

  test('follows the events to their end when the agent is killed', async () => {
    const { server } = await serve();
    const events = followEvents(path, new AbortController().signal);
    const first = events.next();
    await untilListeners(1);
    for (const listener of view.listeners) listener(ready);
    await first;
    server.closeAllConnections();
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('that has given up already follows nothing', async () => {
    await serve();
    expect(await followEvents(path, AbortSignal.abort()).next()).toEqual({ done: true, value: undefined });
  });

  test('may ask for a shutdown, and hears of the end', async () => {
    const server = await serve();
    const ended = waitForEnd(path);
    await untilListeners(1);
    expect(await requestShutdown(path)).toBe(true);
    expect(shutdowns).toBe(1);
    await server.close();
    await ended;
  });

  test('gets an error for what does not exist', async () => {
    await serve();
    const statusOf = async (method: string, at: string): Promise<number | undefined> => {
      const sent = request({ socketPath: path, method, path: at, agent: false });
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect(await statusOf('GET', '/v1/nothing')).toBe(404);
    expect(await statusOf('GET', '/v1/shutdown')).toBe(404);
    expect(await statusOf('POST', '/v1/snapshot')).toBe(404);
    expect(shutdowns).toBe(0);
  });
});

test('an agent that starts says what it does, except to those who wait', async () => {
  let built = (_view: View): void => undefined;
  const later = new Promise<View>((resolve) => {
    built = resolve;
  });
  starts = 'loading image archive app.tar';
  await serve(later);
  const message = 'kubelet-ts is starting: loading image archive app.tar';
  await expect(fetchSnapshot(path)).rejects.toMatchObject({ name: 'UserError', message });
  const waiting = fetchSnapshot(path, { waits: true });
  built(view);
  expect(await waiting).toEqual({ pid: process.pid, ...snapshot });
});

test('an agent that waits for its runtime says so, except to those who wait too', async () => {
  waitsFor = 'nobody is there';
  let built = (_view: View): void => undefined;
  await serve(
    new Promise((resolve) => {
      built = resolve;
    }),
  );
  const message = 'kubelet-ts waits for its runtime: nobody is there';
  await expect(fetchSnapshot(path)).rejects.toMatchObject({ name: 'UserError', message });
  await expect(fetchHistory(path, { namespace: 'default', name: 'web' })).rejects.toMatchObject({ message });
  const waiting = fetchSnapshot(path, { waits: true });
  built(view);
  expect(await waiting).toEqual({ pid: process.pid, ...snapshot });
});

test('a request before the first look for the runtime is answered once that is known', async () => {
  let look = (): void => undefined;
  const runtimeFound = new Promise<void>((resolve) => {
    look = resolve;
  });
  await serve(new Promise(() => undefined), { runtimeFound });
  const asked = fetchSnapshot(path);
  // A later request is answered, so the first one has arrived.
  await fetchAgent(path);
  waitsFor = 'nobody is there';
  look();
  await expect(asked).rejects.toMatchObject({ message: 'kubelet-ts waits for its runtime: nobody is there' });
});
