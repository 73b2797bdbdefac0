import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { freePorts } from './free-ports.ts';
import { program } from './program.ts';

const openFiles = 128;
const attackers = 1500;

test('requests that are never finished take few descriptors from the agent, and are closed, and it answers again', async () => {
  const folder = await temporaryFolder();
  const [port = 0] = await freePorts(1);
  await mkdir(join(folder, 'manifests'));
  await writeFile(join(folder, 'manifests/ignored.txt'), '');
  const flags = ['--root-dir', join(folder, 'root'), '--no-tui', '--healthz-port', String(port)];
  // It serves while it waits for its runtime.
  const runtime = ['--container-runtime-endpoint', `unix://${folder}/none.sock`];
  const limited = ['-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', program, 'run', join(folder, 'manifests')];
  const agent = execa('sh', [...limited, ...flags, ...runtime], { reject: false, all: true });
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
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const closings: Promise<void>[] = [];
  for (let count = 0; count < attackers; count++) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    closings.push(
      new Promise((resolve) => {
        socket.once('close', () => {
          resolve();
        });
      }),
    );
    await once(socket, 'connect');
    // A paused socket does not notice the end.
    socket.resume();
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
  }
  expect((await readdir(`/proc/${agent.pid ?? 0}/fd`)).length).toBeLessThan(openFiles / 2);
  await Promise.all(closings);
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
  expect(answer.status).toBe(500);
  expect(await answer.text()).toContain('waiting for the runtime');
  expect(agent.exitCode).toBeNull();
});

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
