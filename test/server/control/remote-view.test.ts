import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import type { EngineSnapshot } from '../../../src/engine/view/snapshot.ts';
import { AgentMetrics } from '../../../src/server/metrics/agent-metrics.ts';
import { serveControlSocket } from '../../../src/server/control/control-socket.ts';
import { RemoteView } from '../../../src/server/control/remote-view.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { makeEntry, refOf } from '../../tui/make-snapshot.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const first: EngineSnapshot = {
  nodeName: 'edge1',
  startedAt: 1,
  runtime: { endpoint: '/run/cri.sock', chosenBecause: 'it is there', name: 'fake', version: '1' },
  pressures: [],
  pleg: { mode: 'generic' },
  sources: [],
  faults: [],
  pods: [],
};
const event: KubeletEvent = { at: 5, type: 'RuntimeReady', name: 'fake', version: '2' };

let socketPath: string;
let clock: FakeClock;
let snapshot: EngineSnapshot;
const readers = new Set<(event: KubeletEvent) => void>();
/** What was asked for when statistics were. */
const samples: object[] = [];
const podUsage = {
  podRef: { uid: 'u1', name: 'web-edge1', namespace: 'default' },
  ...{ startTime: '', containers: [], cpu: { time: '', usageNanoCores: 5 }, memory: { time: '', workingSetBytes: 7 } },
};

beforeEach(async () => {
  socketPath = join(await temporaryFolder(), 'agent', 'kubelet-ts.sock');
  clock = new FakeClock();
  snapshot = first;
  readers.clear();
  samples.length = 0;
});

async function serve() {
  const view = {
    snapshot: () => snapshot,
    history: () => Promise.resolve([]),
    settled: () => Promise.resolve(),
    operate: () => Promise.reject(new Error('not asked')),
    operateWorkload: () => Promise.reject(new Error('is not called')),
    declarerOf: () => undefined,
    pastRevisions: () => [],
    addEphemeralContainer: () => Promise.reject(new Error('nobody asks')),
    removeEphemeralContainer: () => Promise.reject(new Error('nobody asks')),
    summary: (request: object) => {
      samples.push(request);
      const node = { nodeName: 'edge1', startTime: '' };
      return Promise.resolve({ node, pods: [podUsage] });
    },
    subscribe: (listener: (told: KubeletEvent) => void) => {
      readers.add(listener);
      return () => readers.delete(listener);
    },
  };
  const server = await serveControlSocket(socketPath, {
    metrics: new AgentMetrics(clock),
    faults: silentFaults(),
    logger: silentLogger,
    view: Promise.resolve(view),
    waitsFor: () => undefined,
    shutdown: () => undefined,
  });
  onTestFinished(server.close);
  return server.close;
}

async function open(): Promise<RemoteView> {
  const view = await RemoteView.open({ socketPath, clock });
  if (view === undefined) throw new Error('no agent');
  onTestFinished(() => {
    view.close();
  });
  return view;
}

/** Lets the clock run until it is so; sockets take real time. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('asks for a sample that another screen may have taken before', async () => {
  await serve();
  const view = await open();
  expect(await view.usage()).toEqual([{ uid: 'u1', nanoCores: 5, memoryBytes: 7 }]);
  expect(samples).toEqual([{ maxAgeMs: 4000, cpuAndMemoryOnly: true }]);
});

test('delivers an event once the snapshot includes it', async () => {
  await serve();
  const view = await open();
  await until(() => readers.size === 1);
  const seen: unknown[] = [];
  view.subscribe((told) => seen.push([told, view.snapshot()]));
  snapshot = { ...first, startedAt: 2 };
  for (const tell of readers) tell(event);
  await until(() => seen.length > 0);
  expect(seen).toEqual([[event, { pid: process.pid, ...first, startedAt: 2 }]]);
});

test('connects again to an agent that comes back', async () => {
  const end = await serve();
  const view = await open();
  await until(() => readers.size === 1);
  await end();
  readers.clear();
  await serve();
  await until(() => readers.size === 1);
  const seen: KubeletEvent[] = [];
  view.subscribe((told) => seen.push(told));
  for (const tell of readers) tell(event);
  await until(() => seen.length > 0);
  expect(seen).toEqual([event]);
});

test('says since when there is no agent, until the next one answers', async () => {
  const end = await serve();
  const view = await open();
  await until(() => readers.size === 1);
  expect(view.silence()).toBeUndefined();
  await end();
  await until(() => view.silence() !== undefined);
  expect(view.silence()).toEqual({ since: expect.any(Number) as number, message: 'the agent has exited' });
  await serve();
  await until(() => view.silence() === undefined);
});

test('reports why the agent gives no answer', async () => {
  const end = await serve();
  const view = await open();
  await until(() => readers.size === 1);
  await end();
  const since = clock.now();
  await rm(socketPath, { force: true });
  const rude = createServer((socket) => {
    socket.on('error', () => undefined).end('no HTTP\r\n');
  });
  rude.listen(socketPath);
  await once(rude, 'listening');
  onTestFinished(() => {
    rude.close();
  });
  const message = expect.stringMatching(/^kubelet-ts.* sends an invalid answer/) as string;
  await until(() => view.silence()?.message.includes('invalid') === true);
  expect(view.silence()).toEqual({ since, message });
  expect(view.snapshot()).toEqual({ pid: process.pid, ...first });
});

test('is not there without an agent', async () => {
  expect(await RemoteView.open({ socketPath, clock })).toBeUndefined();
});

test('100 pods with events come as what changed, and every event once', async () => {
  const pods = Array.from({ length: 100 }, (_, index) => makeEntry(`p${index}`));
  snapshot = { ...first, pods };
  await serve();
  const view = await open();
  await until(() => readers.size === 1);
  const seen: KubeletEvent[] = [];
  view.subscribe((told) => seen.push(told));
  const sent = Array.from({ length: 300 }, (_, index): KubeletEvent => ({
    at: index,
    type: 'SyncStarted',
    pod: refOf(`p${index % 2}`),
    state: 'sync',
  }));
  snapshot = {
    ...first,
    pods: pods.map((entry, index) => ({
      ...entry,
      worker: { ...entry.worker, working: index < 2 },
      events: sent.filter((of) => of.type === 'SyncStarted' && of.pod.uid === entry.pod.metadata.uid).slice(-64),
    })),
  };
  for (const one of sent) for (const tell of readers) tell(one);
  await until(() => seen.length > 0);
  expect(seen).toEqual(sent);
  expect(view.snapshot()).toEqual({ pid: process.pid, ...snapshot });
});
