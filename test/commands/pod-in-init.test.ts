import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import type { ContainerState } from '../../src/api/types.ts';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { register as registerExec } from '../../src/commands/exec.ts';
import { register as registerLogs } from '../../src/commands/logs.ts';
import type { Container } from '../../src/cri/types.ts';
import { makeAPIContainerStatus, makeContainer as makeSpec, makePod } from '../builders/pods.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startFakeAgent } from './fake-agent.ts';
import { makeContainer, makeDeps, makeRuntime, makeSandbox } from './runtime-listings.ts';

const finishedAt = '2024-05-06T07:08:09Z';

interface Given {
  /** State of the init container `wait` for the agent. Absent: it has no status. */
  state?: ContainerState;
  /** Instances of `wait` in the runtime, the newest first. */
  attempts: Container['state'][];
  log?: string;
}

/** The agent and the runtime with a pod whose container `app` waits for the init container `wait`. */
async function podInInit({
  state,
  attempts,
  log = 'no mqtt yet',
}: Given): Promise<{
  deps: ReturnType<typeof makeDeps>;
  run: (register: (program: Command, deps: CommandDeps) => void, ...args: string[]) => Promise<unknown>;
}> {
  const rootDir = await temporaryFolder();
  const pod = makePod({
    metadata: { name: 'web-edge1', uid: 'uid-web-edge1' },
    spec: { initContainers: [makeSpec({ name: 'wait' })], containers: [makeSpec({ name: 'app' })] },
    status: {
      phase: 'Pending',
      initContainerStatuses: state ? [makeAPIContainerStatus({ name: 'wait', state })] : [],
      containerStatuses: [makeAPIContainerStatus({ name: 'app', state: { waiting: { reason: 'PodInitializing' } } })],
    },
  });
  const worker = { state: 'sync', working: false, pending: false };
  await startFakeAgent(rootDir, {
    '/v1/snapshot': { nodeName: 'edge1', pods: [{ pod, worker }], sources: [], pressures: [], runtime: {} },
  });
  const logPath = join(rootDir, 'wait.log');
  await writeFile(
    logPath,
    Array.from({ length: 7 }, (_, index) => `${finishedAt} stdout F ${log} ${index + 1}\n`).join(''),
  );
  const containers = attempts.map((attempt, index) =>
    makeContainer({ id: `wait-${index}`, name: 'wait', state: attempt, createdAt: BigInt(9 - index) }),
  );
  const logPaths = Object.fromEntries(containers.map(({ id }) => [id, logPath]));
  const deps = makeDeps(makeRuntime([makeSandbox({ name: 'web-edge1' })], containers, { logPaths }));
  const run = async (
    register: (program: Command, deps: CommandDeps) => void,
    name: string,
    ...args: string[]
  ): Promise<unknown> => {
    const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
    register(program, deps);
    return program.parseAsync([name, '--root-dir', rootDir, ...args], { from: 'user' });
  };
  return { deps, run };
}

const running: Given = { state: { running: { startedAt: finishedAt } }, attempts: ['CONTAINER_RUNNING'] };
const crashed = { terminated: { exitCode: 3, reason: 'Error', finishedAt } };
const lastLines = [3, 4, 5, 6, 7].map((line) => `  no mqtt yet ${line}\n`).join('');
const said = `Defaulted container "app" out of: app, wait (init)\nlast lines of init container wait:\n${lastLines}`;
const readInit = 'Show the log of the init container: kubelet-ts logs default/web-edge1 -c wait';
const readEvents = 'Show its events: kubelet-ts describe default/web-edge1';

describe('logs of a pod in init is an error that shows what the init container says:', () => {
  test.each<[what: string, given: Given, because: string, hint: string, stderr: string]>([
    ['it runs', running, 'PodInitializing: init container wait is running', readInit, said],
    [
      'it failed',
      { state: crashed, attempts: ['CONTAINER_EXITED'] },
      'PodInitializing: init container wait exited with code 3',
      readInit,
      said,
    ],
    [
      'it is in back-off',
      {
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container' } },
        attempts: ['CONTAINER_EXITED', 'CONTAINER_EXITED'],
      },
      'PodInitializing: init container wait: CrashLoopBackOff: back-off 10s restarting failed container',
      readInit,
      said,
    ],
    [
      'its next instance was created and has not started',
      { state: crashed, attempts: ['CONTAINER_CREATED', 'CONTAINER_EXITED'] },
      'PodInitializing: init container wait exited with code 3',
      readInit,
      said,
    ],
    [
      'it waits for its image',
      { state: { waiting: { reason: 'ErrImagePull', message: 'not found' } }, attempts: [] },
      'PodInitializing: init container wait: ErrImagePull: not found',
      readEvents,
      'Defaulted container "app" out of: app, wait (init)\n',
    ],
    [
      'it has not started',
      { attempts: [] },
      'PodInitializing: init container wait is starting',
      readEvents,
      'Defaulted container "app" out of: app, wait (init)\n',
    ],
    [
      'it writes control characters',
      { ...running, log: '\x1b[31m' },
      'PodInitializing: init container wait is running',
      readInit,
      said.replaceAll('no mqtt yet', '\\x1b[31m'),
    ],
  ])('%s', async (_what, given, because, hint, stderr) => {
    const { run, deps } = await podInInit(given);
    const message = `container "app" in pod "web-edge1" is waiting to start: ${because}`;
    await expect(run(registerLogs, 'logs', 'web')).rejects.toMatchObject({ message, hint });
    expect(deps.printed).toEqual({ stdout: '', stderr, exitCode: undefined });
  });
});

test('logs -c app, -f and -p of a pod in init name the init container too', async () => {
  const { run } = await podInInit(running);
  const message = expect.stringMatching(/is waiting to start|previous terminated container/) as string;
  for (const args of [['-c', 'app'], ['-f'], ['-p']]) {
    await expect(run(registerLogs, 'logs', 'web', ...args)).rejects.toMatchObject({ message, hint: readInit });
  }
});

test.each([[['-c', 'wait']], [['--all-containers']]])(
  'logs %j of a pod in init prints the init container',
  async (args) => {
    const { run, deps } = await podInInit(running);
    await run(registerLogs, 'logs', 'web', '--tail', '1', ...args);
    expect(deps.printed).toEqual({ stdout: 'no mqtt yet 7\n', stderr: '', exitCode: undefined });
  },
);

test('the init container itself, without an earlier instance, is not said to wait for itself', async () => {
  const { run } = await podInInit(running);
  await expect(run(registerLogs, 'logs', 'web', '-c', 'wait', '-p')).rejects.toMatchObject({
    message: 'previous terminated container "wait" in pod "web-edge1" not found',
    hint: undefined,
  });
});

test('exec into a container that waits for an init container names that one', async () => {
  const { run } = await podInInit(running);
  await expect(run(registerExec, 'exec', 'web', '--', 'true')).rejects.toMatchObject({
    message: 'container "app" of pod default/web-edge1 is not running: PodInitializing: init container wait is running',
    hint: 'Show that output: kubelet-ts logs default/web-edge1 -c wait',
  });
});
