import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdir, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ContainerdShim } from '../../src/containerd/containerd-shims.ts';
import { endShim } from '../../src/containerd/end-shim.ts';
import { identify, isRunning, type ProcessIdentity } from '../../src/process/process-identity.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const shimSockets = '/run/containerd/s';
await mkdir(shimSockets, { recursive: true, mode: 0o711 }).catch(() => undefined);
const mayWriteSockets = await access(shimSockets, constants.W_OK).then(
  () => true,
  () => false,
);

async function identified(pid = 0): Promise<ProcessIdentity> {
  const process = await identify(pid);
  if (process === undefined) throw new Error('it does not run');
  return process;
}

/** Starts a program that writes one line when it is ready. It is killed with its children when the test ends. */
async function start(program: string, args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  onTestFinished(() => {
    killGroup(child);
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, process: await identified(child.pid), line: line.toString().trim() };
}

function killGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-(pid ?? 0), 'SIGKILL');
  } catch {
    // All have ended.
  }
}

/** A shim of this process. Its containerd has no files of it. */
async function endShimOf(process: ProcessIdentity): Promise<void> {
  const folder = await temporaryFolder();
  const shim: ContainerdShim = { process, id: 'ab'.repeat(32), program: '/usr/bin/containerd-shim-runc-v2' };
  await endShim(shim, { state: join(folder, 'state'), root: join(folder, 'root'), socket: join(folder, 'sock') });
}

/** Has a child, whose PID it writes. */
const parentScript = 'sleep 1000 & echo $!; exec sleep 1000';

test('a shim ends with its children', async () => {
  const { child, process } = await start('sh', ['-c', parentScript]);
  // Emitted when the child has let go of the output too.
  const closed = once(child, 'close');
  await endShimOf(process);
  expect(await closed).toEqual([null, 'SIGKILL']);
});

test('a process that has the number of a shim now keeps its children', async () => {
  const { process, line } = await start('sh', ['-c', parentScript]);
  const child = await identified(Number(line));
  await endShimOf({ ...process, startTicks: '1' });
  expect([await isRunning(process), await isRunning(child)]).toEqual([true, true]);
});

/** A process that listens on this socket. */
async function startListener(socket: string): Promise<ProcessIdentity> {
  const script = 'require("node:net").createServer().listen(process.argv[1], () => console.log("listens"))';
  return (await start(process.execPath, ['-e', script, socket])).process;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

test.runIf(mayWriteSockets)('the socket of a shim goes with it, but not that of a later process', async () => {
  const socket = join(shimSockets, randomBytes(32).toString('hex'));
  onTestFinished(() => rm(socket, { force: true }));
  const listener = await startListener(socket);
  await endShimOf({ ...listener, startTicks: '1' });
  expect(await exists(socket)).toBe(true);
  await endShimOf(listener);
  expect(await exists(socket)).toBe(false);
});

test.runIf(mayWriteSockets)('a socket whose path leads out of the folder of such sockets stays', async () => {
  const socket = join(await temporaryFolder(), 'victim');
  await endShimOf(await startListener(`${shimSockets}/../../..${socket}`));
  expect(await exists(socket)).toBe(true);
});
