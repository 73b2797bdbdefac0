import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { freePorts } from './free-ports.ts';
import { program } from './program.ts';

const openFiles = 128;
const attackers = 1500;

test('requests that are never finished take few descriptors from the agent, and no answer from others', async () => {
  const { agent, port } = await startWaitingAgent();
  for (let count = 0; count < attackers; count++) await sendHalfARequest(port);
  expect(await healthz(port)).toContain('waiting for the runtime');
  expect((await readdir(`/proc/${agent.pid ?? 0}/fd`)).length).toBeLessThan(openFiles / 2);
  expect(agent.exitCode).toBeNull();
});

test('in a flood /healthz answers while the main thread does not', async () => {
  const { agent, port } = await startWaitingAgent();
  const before = await healthz(port);
  const threads = `/proc/${agent.pid ?? 0}/task`;
  const { length } = await readdir(threads);
  while ((await readdir(threads)).length === length) await sendHalfARequest(port);
  // A debugger stops a single thread. Its end lets it go on.
  const stop = execa('python3', ['-c', stopThread, String(agent.pid)]);
  await once(stop.stdout, 'data');
  for (let count = 0; count < attackers; count++) await sendHalfARequest(port);
  expect(await healthz(port)).toBe(before);
  stop.stdin.end();
  await stop;
  agent.kill('SIGTERM');
  expect((await agent).exitCode).toBe(0);
});

const stopThread = `
import ctypes, os, sys
thread = int(sys.argv[1])
libc = ctypes.CDLL(None)
ATTACH, DETACH, WALL = 16, 17, 0x40000000
assert libc.ptrace(ATTACH, thread, 0, 0) == 0
os.waitpid(thread, WALL)
print('stopped', flush=True)
sys.stdin.read()
libc.ptrace(DETACH, thread, 0, 0)
`;

/** Starts an agent that serves while it waits for its runtime. It ends with the test. */
async function startWaitingAgent(): Promise<{ agent: ReturnType<typeof spawnAgent>; port: number }> {
  const folder = await temporaryFolder();
  const [port = 0] = await freePorts(1);
  await mkdir(join(folder, 'manifests'));
  await writeFile(join(folder, 'manifests/ignored.txt'), '');
  const agent = spawnAgent(folder, port);
  onTestFinished(async () => {
    agent.kill('SIGTERM');
    await agent;
  });
  await new Promise<void>((resolve) => {
    agent.all.on('data', (text: Buffer) => {
      if (text.includes('Waiting for the container runtime')) resolve();
    });
  });
  await untilServed(port);
  return { agent, port };
}

function spawnAgent(folder: string, port: number) {
  const flags = ['--root-dir', join(folder, 'root'), '--no-tui', '--healthz-port', String(port)];
  const runtime = ['--container-runtime-endpoint', `unix://${folder}/none.sock`];
  const limited = ['-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', program, 'run', join(folder, 'manifests')];
  return execa('sh', [...limited, ...flags, ...runtime], { reject: false, all: true });
}

async function sendHalfARequest(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
}

async function healthz(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(120_000) });
  return answer.text();
}

/** A moment after the agent said that it waits. */
async function untilServed(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      socket.destroy();
      return;
    } catch {
      // Nobody listens yet.
    }
  }
}
