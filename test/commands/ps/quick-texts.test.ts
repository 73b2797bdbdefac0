import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { Command } from 'commander';
import fc from 'fast-check';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { PodCondition } from '../../../src/api/types.ts';
import { register } from '../../../src/commands/ps.ts';
import { quickTexts } from '../../../src/commands/ps/quick-texts.ts';
import type { RuntimeService } from '../../../src/cri/runtime-service.ts';
import type { EngineSnapshot, PodSnapshot, PullSnapshot } from '../../../src/engine/view/snapshot.ts';
import type { ControlledEngine } from '../../../src/server/control/control-route.ts';
import { serveControlSocket } from '../../../src/server/control/control-socket.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { propertyRuns, propertyTimeoutMs } from '../../property-runs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';
import { makeDeps } from '../runtime-listings.ts';

let rootDir: string;
let snapshot: EngineSnapshot;

/** An agent with `snapshot`. */
async function serveAgent(): Promise<void> {
  const engine: Partial<ControlledEngine> = { snapshot: () => snapshot };
  const socket = await serveControlSocket(join(rootDir, 'kubelet-ts.sock'), {
    view: Promise.resolve(engine as ControlledEngine),
    metrics: { text: () => Promise.resolve(Buffer.of()) },
    shutdown: () => undefined,
    waitsFor: () => undefined,
    faults: silentFaults(),
    logger: silentLogger,
  });
  onTestFinished(socket.close);
}

/** Another server in the place of the agent. */
async function serve(answer: (response: ServerResponse) => void): Promise<void> {
  const server = createServer((_request, response) => {
    answer(response);
  });
  await once(server.listen(join(rootDir, 'kubelet-ts.sock')), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
}

beforeEach(async () => {
  rootDir = await temporaryFolder();
  snapshot = makeSnapshot([makeEntry('web')]);
  vi.useFakeTimers({ toFake: ['Date'], now: noon });
  onTestFinished(() => void vi.useRealTimers());
});

interface Terminal {
  isTTY?: boolean;
  columns?: number;
}

const quick = (words: readonly string[], terminal: Terminal = {}): ReturnType<typeof quickTexts> =>
  quickTexts(['--root-dir', rootDir, ...words], terminal.isTTY === true ? () => terminal : undefined);

/** The output of the whole command. */
async function whole(words: readonly string[], terminal: Terminal = {}): Promise<unknown> {
  const deps = makeDeps({} as RuntimeService);
  Object.assign(deps.stdout, terminal);
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['ps', '--root-dir', rootDir, ...words], { from: 'user' });
  const { stdout, stderr } = deps.printed;
  return { stdout, stderr };
}

const status = fc.record(
  {
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'),
    podIP: fc.constantFrom('192.0.2.1', 'fd00::1'),
    startTime: fc.constantFrom('2025-03-01T09:00:00Z', '2024-03-01T09:00:00Z'),
    conditions: fc.constantFrom<PodCondition[]>([], [{ type: 'Ready', status: 'True' }]),
  },
  { requiredKeys: ['phase'] },
);

const pod = fc
  .record({
    name: fc.constantFrom('a', 'b', 'web'),
    namespace: fc.constantFrom('default', 'kube-system'),
    uid: fc.uuid(),
    status,
    state: fc.constantFrom('waiting', 'sync', 'terminating', 'finished'),
    more: fc.record(
      {
        replacedBy: fc.constant('other'),
        rejection: fc.constant({ reason: 'OutOfcpu', message: 'no cpu', retriedWhen: 'a pod ends' as const }),
        waitingUpdate: fc.constant({ reason: 'ErrImagePull', message: 'no größe' }),
        pulls: fc.constant<PullSnapshot[]>([{ container: 'main', image: 'i', receivedBytes: 1e6, totalBytes: 2e6 }]),
      },
      { requiredKeys: [] },
    ),
    error: fc.option(fc.constantFrom('no disk', 'größer\n\x1b[31m'), { nil: undefined }),
  })
  .map(({ name, namespace, uid, status, state, more, error }): PodSnapshot => {
    const entry = makeEntry(name, {
      namespace,
      worker: { state, ...(error !== undefined && { lastSyncError: error }) },
    });
    const metadata = { ...entry.pod.metadata, uid };
    return { ...entry, pod: { ...entry.pod, metadata, status: { ...entry.pod.status, ...status } }, ...more };
  });

const problem = fc.record({
  severity: fc.constantFrom('error' as const, 'warning' as const),
  origin: fc.constant('/manifests/a.yaml'),
  message: fc.constantFrom('no kind', 'Pod default/web is declared twice', 'schlecht: größe'),
});

const node = fc
  .record({
    pods: fc.array(pod, { maxLength: 6 }),
    problems: fc.array(problem, { maxLength: 60 }),
    runtimeError: fc.option(fc.constant('no answer'), { nil: undefined }),
    hasPressure: fc.boolean(),
  })
  .map(({ pods, problems, runtimeError, hasPressure }) => {
    const { runtime } = makeSnapshot();
    return makeSnapshot(pods, {
      runtime: { ...runtime, ...(runtimeError !== undefined && { error: runtimeError }) },
      pressures: hasPressure ? [{ type: 'DiskPressure', since: noon - 60_000, message: 'little space' }] : [],
      sources: [{ source: 'file', where: '/manifests', ready: true, pods: pods.length, problems }],
    });
  });

const flags = fc.shuffledSubarray(['--no-headers', '-A']);
const terminals = fc.constantFrom<Terminal>({}, { isTTY: true, columns: 80 }, { isTTY: true, columns: 40 });

const sends =
  (text: string) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text);
  };

test(
  'the quick way prints what the whole command prints, or leaves it to that',
  async () => {
    await serveAgent();
    let quickRuns = 0;
    await fc.assert(
      fc.asyncProperty(node, flags, terminals, async (shown, words, terminal) => {
        snapshot = shown;
        const texts = await quick(words, terminal);
        if (texts === undefined) {
          expect(terminal.isTTY).toBe(true);
          return;
        }
        quickRuns += 1;
        expect(texts).toEqual(await whole(words, terminal));
      }),
      propertyRuns(200),
    );
    expect(quickRuns).toBeGreaterThan(50);
  },
  propertyTimeoutMs,
);

test('the quick way makes the table of an agent', async () => {
  await serveAgent();
  expect(await quick(['--no-headers'])).toEqual({ stdout: 'default   web   1/1   Running   0   60m\n', stderr: '' });
});

test.each([
  ['a name', ['web']],
  ['another format', ['-o', 'json']],
  ['a flag without its value', ['-o']],
  ['a namespace', ['-n', 'default']],
  ['help', ['--help']],
])('with %s the whole command runs', async (_what, words) => {
  await serveAgent();
  expect(await quick(words)).toBeUndefined();
});

test.each([
  ['größe', 'größe'],
  ['日本', '日本'],
  ['e\u0301', 'e\u0301'],
  ['a\x1b[31m\n', 'a\\x1b[31m\\n'],
])('the state %j is shown as %j, in columns of a terminal', async (reason, shown) => {
  await serveAgent();
  snapshot = makeSnapshot([makeEntry('web', { containerState: { waiting: { reason } } }), makeEntry('db')]);
  const texts = await quick([]);
  expect(texts).toEqual(await whole([]));
  expect(texts?.stdout).toContain(shown);
});

test('a text with other letters than ASCII that a terminal has no room for is left to the whole command', async () => {
  await serveAgent();
  const waitingUpdate = { reason: 'ErrImagePull', message: 'größer '.repeat(20) };
  snapshot = makeSnapshot([{ ...makeEntry('web'), waitingUpdate }]);
  expect(await quick([], { isTTY: true, columns: 80 })).toBeUndefined();
  expect(await quick([], { isTTY: true, columns: 400 })).toEqual(await whole([], { isTTY: true, columns: 400 }));
});

test('an agent that does not measure its texts is left to the whole command', async () => {
  const rows = [{ cells: ['größe'], colour: 'green' }];
  await serve(sends(JSON.stringify({ columns: ['NAME'], rows, warnings: [] })));
  expect(await quick([], { isTTY: true, columns: 80 })).toBeUndefined();
});

test('without an agent the whole command runs', async () => {
  expect(await quick([])).toBeUndefined();
});

test.each<[string, (response: ServerResponse) => void]>([
  ['an agent without such a table', (response) => response.writeHead(404).end('not found')],
  ['an agent that starts', (response) => response.writeHead(202).end('reads manifests')],
  ['an answer that is not JSON', sends('hello')],
  ['an answer without the output', sends('{"columns":[],"rows":[],"warnings":[]}')],
  ['an answer without its length', (response) => response.writeHead(200).end('{"columns":[],"rows":[],"warnings":[]}')],
  ['an endless answer', sends(' '.repeat(5 * 1024 * 1024))],
  ['an agent that does not answer', () => undefined],
  ['an agent that ends', (response) => response.destroy()],
])('for %s the whole command runs', async (_what, answer) => {
  await serve(answer);
  expect(await quick([])).toBeUndefined();
});
