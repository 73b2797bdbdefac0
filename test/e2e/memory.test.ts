import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

/** Its child is killed, and the container runs on. */
const hungry = makePod('hungry', {
  restartPolicy: 'Never',
  containers: [shell('app', `tail /dev/zero; ${serve}`, { resources: { limits: { memory: '16Mi' } } })],
});

beforeAll(async () => {
  agent = await startAgent();
  // The kernel's log is read from a second after the start.
  await agent.waitForLog(({ msg }) => msg === 'Following the event stream of the runtime');
});
afterAll(() => agent.cleanUp());

describe('a process that the kernel kills for its memory', () => {
  const message =
    /^Out of memory: killed process \d+ \(tail\), anon-rss 1\d{4}Ki, file-rss \d+(Ki|Mi)?, shmem-rss 0; limit of the (container|pod) 16Mi$/;

  test('is one event with container, process and figures', async () => {
    await agent.write('hungry.yaml', hungry);
    const { time, ...killed } = await agent.waitForLog(({ reason }) => reason === 'OOMKilling');
    expect(typeof time).toBe('string');
    expect(killed).toEqual({
      level: 40,
      msg: expect.stringMatching(message) as string,
      pod: 'default/hungry-edge1',
      containerName: 'app',
      reason: 'OOMKilling',
      hint: 'Find out why its memory grows, or raise resources.limits.memory.',
    });
  });

  test('is in the history, once, also after its container ended', async () => {
    const { pid } = await agent.runningContainer('hungry');
    process.kill(pid, 'SIGTERM');
    await agent.untilPod('hungry', ({ worker }) => worker.state === 'finished');
    const { stdout } = await agent.cli(['describe', 'hungry', '-o', 'json']);
    const { history } = JSON.parse(stdout) as { history: { reason: string; message: string; count: number }[] };
    const kills = history.filter(({ reason }) => reason === 'OOMKilling');
    expect(kills.map(({ message, count }) => [message, count])).toEqual([[expect.stringMatching(message), 1]]);
  });
});
