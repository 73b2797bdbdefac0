import { appendFile, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCgroupMounts } from '../../src/engine/container-manager/cgroup-mounts.ts';
import { requireKernelTunables } from '../../src/node/kernel-tunables.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

/** Its child is killed, and the container runs on. The trap comes first, because SIGTERM may follow at once. */
const hungry = makePod('hungry', {
  restartPolicy: 'Never',
  containers: [
    shell('app', `trap "exit 0" TERM; tail /dev/zero; ${serve}`, { resources: { limits: { memory: '16Mi' } } }),
  ],
});

const agentCgroup = '/kubelet-ts-e2e-agent';

beforeAll(async () => {
  agent = await startAgent({ flags: ['--kubelet-cgroups', agentCgroup] });
  // The kernel's log is read from a second after the start.
  await agent.waitForLog(({ msg }) => msg === 'Following the event stream of the runtime');
});
afterAll(async () => {
  await agent.cleanUp();
  for (const top of await cgroupTops()) await rmdir(join(top, agentCgroup));
});

const cgroupTops = async (): Promise<Set<string>> => {
  const { controllers, hierarchies, version } = await readCgroupMounts();
  return new Set(version === 2 ? hierarchies : controllers.values());
};

test('the agent runs in the cgroup of kubeletCgroups', async () => {
  const tops = [...(await cgroupTops())];
  const processes = await Promise.all(tops.map((top) => readFile(join(top, agentCgroup, 'cgroup.procs'), 'utf8')));
  expect(processes).toEqual(tops.map(() => `${agent.pid}\n`));
});

test('the kernel has the settings that the kubelet requires', async () => {
  await expect(requireKernelTunables()).resolves.toBeUndefined();
});

describe('a process that the kernel kills for its memory', () => {
  const message =
    /^Out of memory: killed process \d+ \(tail\), anon-rss 1\d{4}Ki, file-rss \d+(Ki|Mi)?, shmem-rss 0; limit of the (container|pod) 16Mi$/;

  test('is one event with container, process and figures', async () => {
    // A privileged container could write this. The kernel marks it as a program's.
    const forged = 'Out of memory: Killed process 1 (forged) total-vm:9kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB';
    await appendFile('/dev/kmsg', `<0>${forged}\n`);
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
    expect(agent.logs.filter(({ reason }) => reason === 'SystemOOM')).toEqual([]);
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
