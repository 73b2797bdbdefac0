import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { readOptions, register as registerLogs, type LogsFlags } from '../../src/commands/logs.ts';
import { willRestart } from '../../src/commands/pod/watch-container-exit.ts';
import type { Container } from '../../src/cri/types.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { makeContainer, makeDeps, makeRuntime, makeSandbox } from './runtime-listings.ts';
import { makeEntry, makeSnapshot } from '../tui/make-snapshot.ts';
import { startFakeAgent } from './fake-agent.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let directory: string;

beforeEach(async () => {
  directory = await temporaryFolder();
});

async function runtimeWithLogs(): Promise<RuntimeService> {
  const logPaths: Record<string, string> = {};
  for (const id of ['app-0', 'app-1', 'side-0']) {
    logPaths[id] = join(directory, `${id}.log`);
    await writeFile(logPaths[id], `2024-05-06T07:08:09Z stdout F one of ${id}\n2024-05-06T07:08:10Z stderr F two\n`);
  }
  const containers = [
    makeContainer({ id: 'app-0', name: 'app', createdAt: 1n, state: 'CONTAINER_EXITED' }),
    makeContainer({ id: 'side-0', name: 'side', createdAt: 2n, state: 'CONTAINER_EXITED' }),
    makeContainer({ id: 'app-1', name: 'app', createdAt: 3n }),
    makeContainer({ id: 'new-0', name: 'new', createdAt: 4n, state: 'CONTAINER_CREATED' }),
  ];
  return makeRuntime([makeSandbox({ name: 'web' })], containers, { logPaths });
}

async function logs(deps: CommandDeps, ...args: string[]): Promise<void> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerLogs(program, deps);
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(['logs', '--root-dir', directory, ...args], { from: 'user' });
}

describe('logs', () => {
  test.each([
    [['web', '-c', 'app'], 'one of app-1\ntwo\n'],
    [['web', '-c', 'app', '-p'], 'one of app-0\ntwo\n'],
    [['web', '-c', 'side', '--tail', '1'], 'two\n'],
    [['web', '-c', 'side', '--tail', '-1'], 'one of side-0\ntwo\n'],
    [['web', '-c', 'side', '--timestamps', '--tail=1'], '2024-05-06T07:08:10.000000000Z two\n'],
    [['web', '-c', 'side', '--since-time', '2024-05-06T07:08:10Z'], 'two\n'],
    [['web', '-c', 'side', '--since-time', '2024-05-06T07:08:09.000000001Z'], 'two\n'],
    [['web', '-c', 'side', '--limit-bytes', '3'], 'one'],
    [['web', '-c', 'side', '--limit-bytes=0'], 'one of side-0\ntwo\n'],
    [['web', '-c', 'side', '--since=0s'], 'one of side-0\ntwo\n'],
    [['web', '-c', 'side', '--since=0s', '--since-time', '2024-05-06T07:08:10Z'], 'two\n'],
    [['web', '-c', 'side', '--follow'], 'one of side-0\ntwo\n'],
    [['web', 'side', '--tail', '1'], 'two\n'],
    [['web', '--all-containers', '--prefix', '--tail', '1'], '[pod/web/app] two\n[pod/web/side] two\n'],
  ])('%j prints %j', async (args, expected) => {
    const deps = makeDeps(await runtimeWithLogs());
    await logs(deps, ...args);
    expect(deps.printed.stdout).toBe(expected);
  });

  test('deploy/web means a Ready pod of the workload', async () => {
    const pods = [makeEntry('web', { containerState: { waiting: {} } }), makeEntry('web-1')];
    const workloads = [{ kind: 'Deployment', namespace: 'default', name: 'web', pods: ['web', 'web-1'] }];
    await startFakeAgent(directory, { '/v1/snapshot': { ...makeSnapshot(pods), workloads } });
    const logPaths = { main: join(directory, 'main.log') };
    await writeFile(logPaths.main, '2024-05-06T07:08:09Z stdout F one\n');
    const ofPod = { 'io.kubernetes.container.name': 'main', 'io.kubernetes.pod.uid': 'uid-web-1' };
    const container = { ...makeContainer({ id: 'main', name: 'main' }), labels: ofPod };
    const sandboxes = [makeSandbox({ name: 'web' }), makeSandbox({ name: 'web-1' })];
    const deps = makeDeps(makeRuntime(sandboxes, [container], { logPaths }));
    await logs(deps, 'deploy/web');
    expect(deps.printed).toMatchObject({ stdout: 'one\n', stderr: 'Found 2 pods, using pod/web-1\n' });
  });

  test('-p -f ends with the previous instance', async () => {
    const logPaths = { 'app-0': join(directory, '0.log'), 'app-1': join(directory, '1.log') };
    await writeFile(logPaths['app-0'], '2024-05-06T07:08:09Z stdout F previous\n');
    await writeFile(logPaths['app-1'], '2024-05-06T07:08:10Z stdout F current\n');
    const current = makeContainer({ id: 'app-1', name: 'app', createdAt: 2n });
    const containers = [makeContainer({ id: 'app-0', name: 'app', createdAt: 1n, state: 'CONTAINER_EXITED' }), current];
    const runtime = makeRuntime([makeSandbox({ name: 'web' })], containers, { logPaths });
    const deps = makeDeps({
      ...runtime,
      // The current instance ends once the one to print is chosen.
      containerStatus: (...asked) => {
        current.state = 'CONTAINER_EXITED';
        return runtime.containerStatus(...asked);
      },
    });
    await logs(deps, 'web', '-c', 'app', '-p', '-f');
    expect(deps.printed.stdout).toBe('previous\n');
  });

  test('--all-containers of a pod whose containers wait is an error', async () => {
    const waiting = makeContainer({ id: 'app', name: 'app', state: 'CONTAINER_CREATED' });
    const deps = makeDeps(makeRuntime([makeSandbox({ name: 'web' })], [waiting]));
    await expect(logs(deps, 'web', '--all-containers')).rejects.toThrow(
      'container "app" in pod "web" is waiting to start',
    );
  });

  test('tells on stderr which container it chose', async () => {
    const deps = makeDeps(await runtimeWithLogs());
    await logs(deps, 'web');
    expect(deps.printed).toEqual({
      stdout: 'one of app-1\ntwo\n',
      stderr: 'Defaulted container "app" out of: app, side, new\n',
      exitCode: undefined,
    });
  });

  test('says that a container did not start or has no previous attempt', async () => {
    const deps = makeDeps(await runtimeWithLogs());
    await expect(logs(deps, 'web', '-c', 'new')).rejects.toThrow('container "new" in pod "web" is waiting to start');
    await expect(logs(deps, 'web', '-p', '-c', 'new')).rejects.toThrow(
      'previous terminated container "new" in pod "web" not found',
    );
  });

  describe('-l', () => {
    async function runtimeWithPods(): Promise<RuntimeService> {
      const logPath = join(directory, 'one.log');
      await writeFile(logPath, '2024-05-06T07:08:09Z stdout F said\n');
      const sandbox = (name: string, app: string, createdAt = 1n) => ({
        ...makeSandbox({ name, labels: { app }, createdAt }),
        metadata: { name, namespace: 'default', uid: `uid-${name}-${createdAt}`, attempt: 0 },
      });
      const container = (name: string, uid: string, state: Container['state']) => {
        const labels = { 'io.kubernetes.container.name': name, 'io.kubernetes.pod.uid': uid };
        return makeContainer({ id: `${name}-${uid}`, name, labels, state });
      };
      const sandboxes = [
        sandbox('web-b', 'web'),
        sandbox('web-a', 'web', 1n),
        sandbox('web-a', 'web', 2n),
        sandbox('db', 'db'),
        sandbox('idle', 'idle'),
        sandbox('web-idle', 'web'),
      ];
      const containers = [
        container('app', 'uid-web-b-1', 'CONTAINER_RUNNING'),
        container('side', 'uid-web-b-1', 'CONTAINER_RUNNING'),
        container('old', 'uid-web-a-1', 'CONTAINER_RUNNING'),
        container('app', 'uid-web-a-2', 'CONTAINER_RUNNING'),
        container('db', 'uid-db-1', 'CONTAINER_EXITED'),
        container('app', 'uid-idle-1', 'CONTAINER_CREATED'),
        container('app', 'uid-web-idle-1', 'CONTAINER_CREATED'),
      ];
      const logPaths = Object.fromEntries(containers.map(({ id }) => [id, logPath]));
      return makeRuntime(sandboxes, containers, { logPaths });
    }
    const waits = 'warning: container "app" in pod "web-idle" is waiting to start\n';

    test.each([
      [['-l', 'app=web'], '[pod/web-a/app] said\n[pod/web-b/app] said\n[pod/web-b/side] said\n', waits],
      [['-l', 'app=web', '-c', 'app'], '[pod/web-a/app] said\n[pod/web-b/app] said\n', waits],
      [['-l', 'app in (db,cache)', '-n', 'default', '-f'], '[pod/db/db] said\n', ''],
    ])(
      '%j prints the logs of all containers of the pods, each line with its container',
      async (args, stdout, stderr) => {
        const deps = makeDeps(await runtimeWithPods());
        await logs(deps, ...args);
        expect(deps.printed).toEqual({ stdout, stderr, exitCode: undefined });
      },
    );

    test.each([
      [['-l', 'app=nothing'], 'no pod has the labels app=nothing'],
      [['-l', 'app=web', '-n', 'kube-system'], 'no pod has the labels app=web'],
      [['-l', 'app=idle'], 'container "app" in pod "idle" is waiting to start'],
      [['-l', 'app=web', '-c', 'none'], 'container "none" not found in pod default/web-a'],
      [['-l', 'a b c'], '"a b c" is not a label selector'],
      [[], 'name a pod, or choose pods with -l'],
    ])('%j is an error if no log is there', async (args, message) => {
      await expect(logs(makeDeps(await runtimeWithPods()), ...args)).rejects.toThrow(message);
    });
  });

  test('ends quietly when nobody reads any more', async () => {
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => {
        done(Object.assign(new Error('broken pipe'), { code: 'EPIPE' }));
      },
    });
    await expect(logs(makeDeps(await runtimeWithLogs(), { stdout }), 'web', '-c', 'app')).resolves.toBeUndefined();
  });

  test.each([
    [['--tail', 'x'], 'It must be a number of lines, or -1.'],
    [['--tail', '-2'], 'It must be a number of lines, or -1.'],
    [['--limit-bytes', '-1'], 'It must be a whole number.'],
    [['--since', '5x'], 'It must be a duration such as 20s or 1m30s.'],
    [['--since-time', 'yesterday'], 'It must be a time such as 2024-05-06T07:08:09Z.'],
    [['--since', '5m', '--since-time', '2024-05-06T07:08:09Z'], 'use only one of --since and --since-time'],
    [['--all-containers', '-c', 'app'], 'use only one of --all-containers and --container'],
    [['--all-containers', 'app'], 'use only one of --all-containers and --container'],
    [['app', '-c', 'side'], 'two containers are named: app and side'],
    [['-l', 'app=web'], 'name a pod or use -l, not both'],
  ])('refuses %j', async (args, message) => {
    await expect(logs(makeDeps(await runtimeWithLogs()), 'web', ...args)).rejects.toThrow(message);
  });
});

test.each<[Partial<LogsFlags>, object]>([
  [{}, { follow: false, timestamps: false }],
  [
    { tail: 0, follow: true },
    { follow: true, timestamps: false, tailLines: 0 },
  ],
  [{ since: 5000 }, { follow: false, timestamps: false, sinceMs: 95_000 }],
  [{ sinceTime: '1970-01-01T00:00:01,5+00:00' }, { follow: false, timestamps: false, sinceMs: 1500, sinceExtraNs: 0 }],
  [
    { limitBytes: 7, timestamps: true },
    { follow: false, timestamps: true, limitBytes: 7 },
  ],
  [
    { since: 0, limitBytes: 0 },
    { follow: false, timestamps: false },
  ],
  [{ selector: 'app=web' }, { follow: false, timestamps: false, tailLines: 10 }],
  [
    { selector: 'app=web', tail: -1 },
    { follow: false, timestamps: false },
  ],
  [
    { selector: 'app=web', tail: 20 },
    { follow: false, timestamps: false, tailLines: 20 },
  ],
])('the flags %j come to %j', (flags, expected) => {
  expect(readOptions({ rootDir: '', ...flags }, 100_000)).toEqual(expected);
});

describe('whether an agent starts a container again', () => {
  const ruled: Pod['spec']['containers'][number] = {
    name: 'app',
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
  };
  const podWith = (changes: Partial<Pod['spec']>, status: Pod['status'] = {}): Pod => ({
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: {
      containers: [{ name: 'app' }],
      initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }],
      ...changes,
    },
    status,
  });
  test.each<[string, Pod | undefined, string, number, boolean]>([
    ['without an agent', undefined, 'app', 1, false],
    ['with policy Always', podWith({}), 'app', 0, true],
    ['with policy OnFailure, after success', podWith({ restartPolicy: 'OnFailure' }), 'app', 0, false],
    ['with policy OnFailure, after failure', podWith({ restartPolicy: 'OnFailure' }), 'app', 1, true],
    ['with policy Never', podWith({ restartPolicy: 'Never' }), 'app', 1, false],
    ['an init container that succeeded', podWith({}), 'setup', 0, false],
    ['an init container that failed', podWith({}), 'setup', 1, true],
    ['a sidecar', podWith({ restartPolicy: 'Never' }), 'proxy', 0, true],
    ['with its own policy Never', podWith({ containers: [{ name: 'app', restartPolicy: 'Never' }] }), 'app', 1, false],
    ['with a rule for its exit code', podWith({ restartPolicy: 'Never', containers: [ruled] }), 'app', 42, true],
    ['with a rule for another exit code', podWith({ restartPolicy: 'Never', containers: [ruled] }), 'app', 1, false],
    ['an ephemeral container', podWith({ ephemeralContainers: [{ name: 'debug' }] }), 'debug', 1, false],
    ['of a pod that failed', podWith({}, { phase: 'Failed' }), 'app', 1, false],
  ])('%s', (_title, pod, name, exitCode, expected) => {
    expect(willRestart(pod, name, exitCode)).toBe(expected);
  });
});
