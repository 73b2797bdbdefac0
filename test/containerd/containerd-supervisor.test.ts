import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { identify } from '../../src/process/process-identity.ts';
import type { ContainerdHost } from '../../src/containerd/containerd-host.ts';
import { ContainerdSupervisor, type PreparedLaunch } from '../../src/containerd/containerd-supervisor.ts';
import { LinuxContainerdHost } from '../../src/containerd/linux-containerd-host.ts';
import { managedPaths, type ManagedPaths } from '../../src/containerd/managed-paths.ts';
import { waitForPath } from '../../src/containerd/wait-for-path.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A supervisor of a program in the place of containerd, over a root-dir with what a dead one left. */
async function supervisorOf(
  script: string | undefined | ((paths: ManagedPaths) => Promise<PreparedLaunch>),
  onDamagedStore: () => Promise<boolean> = () => Promise.resolve(false),
): Promise<{ supervisor: ContainerdSupervisor; paths: ManagedPaths }> {
  const rootDir = await temporaryFolder();
  const paths = managedPaths(rootDir);
  await mkdir(paths.base);
  for (const file of [paths.socket, `${paths.socket}.ttrpc`]) await writeFile(file, 'stale');
  await writeFile(paths.pidFile, JSON.stringify({ pid: 2 ** 30, startTicks: '1' }));
  await writeFile(paths.logFile, 'said before\n');
  const containerd = join(rootDir, 'containerd-program');
  if (typeof script === 'string') await writeFile(containerd, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const supervisor = new ContainerdSupervisor({
    host: new LinuxContainerdHost(paths, systemClock, silentLogger),
    clock: systemClock,
    logger: silentLogger,
    prepare: () => (typeof script === 'function' ? script(paths) : Promise.resolve({ containerd, warnings: [] })),
    events: {},
    rootDir,
    hint: 'Check its log.',
    onDamagedStore,
  });
  return { supervisor, paths };
}

const forGood = new AbortController().signal;
const leftAlone = ['containerd.log', 'launch.lock'];

test('a containerd that ends at its start is an error with its last lines, and leaves nothing to trip over', async () => {
  const { supervisor, paths } = await supervisorOf('echo "bad configuration: $1 $2"; exit 3');
  await expect(supervisor.start(forGood)).rejects.toMatchObject({
    name: 'UserError',
    message:
      'The managed containerd did not start: it exited with code 3\n' +
      `  bad configuration: --config ${paths.configFile}`,
    hint: 'Check its log.',
  });
  expect(await readdir(paths.base)).toEqual(leftAlone);
});

const panicsUnless = (file: string): string =>
  `test -e "$(dirname "$2")/${file}" && exit 3; echo "panic: invalid freelist page: 0"; echo "go.etcd.io/bbolt.Open()"; exit 2`;

test('a damaged store is an error with the line of the log and the command that repairs it', async () => {
  const { supervisor, paths } = await supervisorOf(panicsUnless('never'));
  await expect(supervisor.start(forGood)).rejects.toMatchObject({
    message: 'The managed containerd did not start: it exited with code 2\n  panic: invalid freelist page: 0',
    hint: `Set the damaged store of containerd aside and start again: kubelet-ts repair-store --root-dir ${dirname(paths.base)}`,
  });
});

test('containerd is started once more after its damaged store was set aside, and not for ever', async () => {
  let timesAside = 0;
  const { supervisor, paths } = await supervisorOf(panicsUnless('aside'), async () => {
    timesAside += 1;
    await writeFile(join(paths.base, 'aside'), '');
    return true;
  });
  await expect(supervisor.start(forGood)).rejects.toThrow('it exited with code 3');
  expect(timesAside).toBe(1);

  const { supervisor: other } = await supervisorOf(panicsUnless('never'), () => {
    timesAside += 1;
    return Promise.resolve(true);
  });
  await expect(other.start(forGood)).rejects.toThrow('panic');
  expect(timesAside).toBe(2);
});

test('a containerd that does not start as prepared is started in a plainer way, once, and not for a damaged store', async () => {
  const failures: string[] = [];
  const prepare = (script: string) => async (paths: ManagedPaths) => {
    const containerd = join(paths.base, 'first');
    const plain = join(paths.base, 'plain');
    await writeFile(containerd, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await writeFile(plain, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
    const plainer = (failure: Error) => {
      failures.push(failure.message);
      return Promise.resolve({ containerd: plain, warnings: [] });
    };
    return { containerd, warnings: [], plainer };
  };
  const { supervisor } = await supervisorOf(prepare('echo "no such runtime"; exit 1'));
  await expect(supervisor.start(forGood)).rejects.toThrow('it exited with code 3');
  expect(failures).toEqual(['The managed containerd did not start: it exited with code 1\n  no such runtime']);

  const { supervisor: other } = await supervisorOf(prepare(panicsUnless('never')));
  await expect(other.start(forGood)).rejects.toThrow('panic');
  expect(failures).toHaveLength(1);
});

test('a containerd that answers is adopted, not replaced, even if its pid cannot be recorded', async () => {
  const signals: string[] = [];
  const host: ContainerdHost = {
    find: () => Promise.resolve({ pid: 7, startTicks: '1' }),
    isRunning: () => Promise.resolve(true),
    launch: () => Promise.reject(new Error('launched')),
    untilReady: () => Promise.resolve(),
    record: () => Promise.reject(new Error('EROFS: read-only file system')),
    signal: (_, name) => Promise.resolve(void signals.push(name)),
    watchConnection: () => () => undefined,
    lastLines: () => Promise.resolve([]),
    removeTraces: () => Promise.resolve(),
    whileNoneRuns: () => Promise.resolve(false),
  };
  const supervisor = new ContainerdSupervisor({
    host,
    clock: new FakeClock(),
    logger: silentLogger,
    prepare: () => Promise.resolve({ containerd: 'containerd', warnings: [] }),
    events: {},
    rootDir: '/r',
    hint: '',
    onDamagedStore: () => Promise.resolve(false),
  });
  expect(await supervisor.start(forGood)).toMatchObject({ process: { pid: 7 }, adopted: true });
  expect(signals).toEqual([]);
  supervisor.release();
});

test('a containerd that cannot be executed is an error', async () => {
  const { supervisor } = await supervisorOf(undefined);
  await expect(supervisor.start(forGood)).rejects.toThrow(
    'The managed containerd did not start: it could not be executed',
  );
});

test('an aborted start leaves no process', async () => {
  const { supervisor, paths } = await supervisorOf('echo $$ > "$2.started"; exec sleep 1000');
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const start = supervisor.start(controller.signal);
  const rejected = expect(start).rejects.toBe(reason);
  const started = `${paths.configFile}.started`;
  await waitForPath(started, forGood);
  controller.abort(reason);
  await rejected;
  expect(await identify(Number(await readFile(started, 'utf8')))).toBeUndefined();
  expect(await readdir(paths.base)).toEqual(['config.toml.started', ...leftAlone]);
});

test('a start that is aborted before there is a process makes none', async () => {
  const { supervisor, paths } = await supervisorOf('echo started; exec sleep 1000');
  const reason = new Error('interrupted');
  await expect(supervisor.start(AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(await readFile(paths.logFile, 'utf8')).toBe('said before\n');
});

test('a containerd that cannot be checked, as no descriptor is left, counts as running', async () => {
  const clock = new FakeClock();
  const process = { pid: 7, startTicks: '1' };
  const calls: string[] = [];
  let lose = (): void => undefined;
  let isRunning: () => Promise<boolean> = () => Promise.resolve(true);
  const host: ContainerdHost = {
    find: async () => ((await isRunning()) ? process : undefined),
    isRunning: () => isRunning(),
    launch: () => {
      calls.push('launch');
      return new Promise(() => undefined);
    },
    untilReady: () => Promise.resolve(),
    record: () => Promise.resolve(),
    signal: () => Promise.resolve(),
    watchConnection: (onLost) => {
      lose = onLost;
      return () => undefined;
    },
    lastLines: () => Promise.resolve([]),
    removeTraces: () => Promise.resolve(),
    whileNoneRuns: () => Promise.resolve(false),
  };
  const supervisor = new ContainerdSupervisor({
    host,
    clock,
    logger: silentLogger,
    prepare: () => Promise.resolve({ containerd: 'containerd', warnings: [] }),
    events: { onExit: () => calls.push('ended') },
    rootDir: '/r',
    hint: '',
    onDamagedStore: () => Promise.resolve(false),
  });
  await supervisor.start(forGood);
  isRunning = () => Promise.reject(new Error('EMFILE: too many open files'));
  lose();
  await clock.advance(100);
  expect(calls).toEqual([]);
  isRunning = () => Promise.resolve(false);
  await clock.advance(10);
  expect(calls).toEqual(['ended', 'launch']);
  supervisor.release();
});
