import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { recordRuntime } from '../../src/node/last-runtime.ts';
import { recordNodePaths } from '../../src/node/last-node-paths.ts';
import { runProgram } from '../../src/commands/program.ts';
import { startRuntimePod } from '../builders/runtime-pod.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Runs a command line in this process. */
async function run(words: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const said = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      said[name] += String(text);
      return true;
    }),
  );
  const restore = (): void => {
    for (const spy of spies) spy.mockRestore();
  };
  onTestFinished(restore);
  const code = await runProgram(['node', 'kubelet-ts', ...words]);
  restore();
  return { code, ...said };
}

/** A root-dir with pod `default/web` in a runtime that fails to stop it with this message, and the flags for both. */
async function unstoppable(message: string): Promise<{ rootDir: string; flags: string[] }> {
  const folder = await temporaryFolder();
  const [rootDir, socketPath] = [join(folder, 'root'), join(folder, 'cri.sock')];
  await mkdir(join(rootDir, 'pods', 'web'), { recursive: true });
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  runtime.addImage('app:1');
  await startRuntimePod(runtime, 'web');
  // A runtime that does not answer is not asked again.
  const silent = new Refusal(codes.deadlineExceeded, message);
  for (const method of ['stopContainer', 'stopPodSandbox'] as const) {
    runtime.injectError(method, silent, { times: Infinity });
  }
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath });
  onTestFinished(() => {
    server.stop();
  });
  const place = ['--root-dir', rootDir, '--container-runtime-endpoint', `unix://${socketPath}`];
  return { rootDir, flags: [...place, '--pod-logs-dir', join(folder, 'logs'), '--cgroup-root', '/kubelet-ts-none'] };
}

test('down keeps the data of claims and its containerd while a pod could not be removed', async () => {
  const { rootDir, flags } = await unstoppable('deadline exceeded');
  const data = join(rootDir, 'volumes', 'default', 'data');
  await mkdir(data, { recursive: true });
  const { code, stdout, stderr } = await run(['down', '--all', '--volumes', ...flags]);
  expect({ code, stdout, stderr: stderr.split('\n') }).toEqual({
    code: 1,
    stdout: 'claim default/data keeps its data\n',
    stderr: [
      expect.stringMatching(/^error: pod default\/web could not be removed: .*deadline exceeded/) as string,
      'hint: The next run or down tries again.',
      'hint: The managed containerd keeps running, because containers of these pods may still run.',
      '',
    ],
  });
  expect(existsSync(data)).toBe(true);
});

test('no text of the runtime is a command to GitHub', async () => {
  vi.stubEnv('GITHUB_ACTIONS', 'true');
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const { flags } = await unstoppable('##[error]deadline exceeded');
  const { stderr } = await run(['down', ...flags]);
  expect(stderr.split('\n')).toEqual([
    String.raw`error: pod default/web could not be removed: ##\[error]deadline exceeded`,
    'hint: The next run or down tries again.',
    '',
  ]);
});

test('down removes the logs where the last agent had them, unless a flag names another folder', async () => {
  const folder = await temporaryFolder();
  const [rootDir, socketPath] = [join(folder, 'root'), join(folder, 'cri.sock')];
  const logsOf = (name: string, uid: string): string => join(folder, name, `default_${uid}_${uid}`);
  for (const path of [logsOf('noted', 'web'), logsOf('noted', 'db'), logsOf('named', 'db'), join(rootDir, 'state')]) {
    await mkdir(path, { recursive: true });
  }
  await recordNodePaths(rootDir, { podLogsDir: join(folder, 'noted'), cgroupRoot: '/kubelet-ts-none' }, silentLogger);
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  runtime.addImage('app:1');
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath });
  onTestFinished(() => {
    server.stop();
  });
  const takeDown = async (uid: string, ...flags: string[]): Promise<unknown> => {
    await mkdir(join(rootDir, 'pods', uid), { recursive: true });
    await startRuntimePod(runtime, uid);
    return run(['down', '--root-dir', rootDir, '--container-runtime-endpoint', `unix://${socketPath}`, ...flags]);
  };
  const removed = (uid: string): unknown => ({ code: 0, stdout: `pod default/${uid} removed\n`, stderr: '' });
  expect(await takeDown('web')).toEqual(removed('web'));
  expect(await takeDown('db', '--pod-logs-dir', join(folder, 'named'))).toEqual(removed('db'));
  const left = [logsOf('noted', 'web'), logsOf('noted', 'db'), logsOf('named', 'db')].map((path) => existsSync(path));
  expect(left).toEqual([false, true, false]);
});

test('down --all leaves a managed containerd that runs pods of other root-dirs', async () => {
  const rootDir = await temporaryFolder();
  const { socket } = managedPaths(rootDir);
  await mkdir(dirname(socket), { recursive: true });
  await writeFile(join(rootDir, 'containerd', 'config.toml'), '');
  const runtime = new FakeRuntime({ clock: new FakeClock() });
  runtime.addImage('app:1');
  await startRuntimePod(runtime, 'theirs');
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath: socket });
  onTestFinished(() => {
    server.stop();
  });
  expect(await run(['down', '--all', '--root-dir', rootDir])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: the managed containerd keeps running, because it runs pods of other root-dirs: default/theirs\n' +
      'hint: Remove them first: kubelet-ts down --root-dir THEIR_ROOT_DIR\n',
  });
});

test('down --all leaves a managed containerd that an agent of another root-dir uses, also without a pod', async () => {
  const [rootDir, theirs] = [await temporaryFolder(), await temporaryFolder()];
  const { socket, endpoint } = managedPaths(rootDir);
  await mkdir(dirname(socket), { recursive: true });
  await writeFile(join(rootDir, 'containerd', 'config.toml'), '');
  const server = new FakeCriServer(new FakeRuntime({ clock: new FakeClock() }));
  await server.start({ socketPath: socket });
  await mkdir(join(theirs, 'state'));
  await recordRuntime(theirs, { endpoint, managed: false }, silentLogger);
  // As the kernel lists the control socket of an agent.
  const agent = createServer().listen(join(theirs, `sock.${process.pid}`));
  onTestFinished(() => {
    agent.close();
    server.stop();
  });
  await once(agent, 'listening');
  expect(await run(['down', '--all', '--root-dir', rootDir])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `error: the managed containerd keeps running, because agents of other root-dirs use it: ${theirs}\n` +
      `hint: Stop them first: kubelet-ts down --root-dir ${theirs}\n`,
  });
});
