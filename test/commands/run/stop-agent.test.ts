import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { stopAgent } from '../../../src/commands/run/stop-agent.ts';
import { holderText } from '../../../src/files/file-lock.ts';
import { readStat } from '../../../src/process/process-identity.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A process with this script is the agent behind a socket where nobody speaks HTTP. */
async function agentThat(
  script: string,
): Promise<{ socketPath: string; agent: ChildProcess; ended: Promise<unknown> }> {
  const agent = spawn(process.execPath, ['-e', `${script}; setInterval(() => {}, 1e6)`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void agent.kill('SIGKILL'));
  await once(agent.stdout, 'data');
  const socketPath = join(await temporaryFolder(), 'agent.sock');
  const server = createServer((socket) => socket.on('error', () => undefined).end('SSH-2.0-OpenSSH\r\n'));
  server.listen(socketPath);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  await symlink(await holderText(agent.pid ?? 0), `${socketPath}.holder`);
  return { socketPath, agent, ended: once(agent, 'exit') };
}

/** Time passes with each wait. After so many milliseconds a wait ends with the agent. */
function clockThatWaits(afterMs: number, ended: Promise<unknown>): { clock: Clock; waitedMs: () => number } {
  const fake = new FakeClock();
  let waitedMs = 0;
  const clock: Clock = {
    now: () => fake.now(),
    monotonic: () => waitedMs,
    sleep: async (ms) => {
      waitedMs += ms;
      if (waitedMs > afterMs) await ended;
    },
    after: (ms, fn) => fake.after(ms, fn),
  };
  return { clock, waitedMs: () => waitedMs };
}

test('an agent that is silent and stopped is ended by SIGTERM and SIGCONT', async () => {
  const { socketPath, agent, ended } = await agentThat(
    'process.on("SIGTERM", () => process.exit(7)); process.stdout.write("up"); process.kill(process.pid, "SIGSTOP")',
  );
  // Without it SIGCONT might come before the stop.
  while ((await readStat(agent.pid ?? 0))?.state !== 'T');
  const stderr = new PassThrough({ encoding: 'utf8' });
  expect(await stopAgent(socketPath, { clock: clockThatWaits(0, ended).clock, stderr })).toBe(true);
  await ended;
  expect([agent.exitCode, agent.signalCode]).toEqual([7, null]);
  expect(stderr.read()).toMatch(
    new RegExp(`^warning: kubelet-ts \\(pid ${agent.pid ?? 0}, \\w+\\) .*; stopping it with a signal\\n$`),
  );
});

test('an agent that ignores SIGTERM is killed five seconds after its last work', async () => {
  const { socketPath, agent, ended } = await agentThat('process.on("SIGTERM", () => {}); process.stdout.write("up")');
  const stderr = new PassThrough({ encoding: 'utf8' });
  const { clock, waitedMs } = clockThatWaits(60_000, ended);
  expect(await stopAgent(socketPath, { clock, stderr })).toBe(true);
  await ended;
  expect([agent.signalCode, waitedMs() >= 5000 && waitedMs() < 60_000]).toEqual(['SIGKILL', true]);
  expect(String(stderr.read()).split('\n')[1]).toBe(
    `warning: kubelet-ts (pid ${agent.pid ?? 0}) still runs after SIGTERM; killing it`,
  );
});
