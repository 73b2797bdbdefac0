import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, isReady, type LogEntry, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

/** CPU 0 is reserved, so that one is left of two. */
const flags = [
  '--cpu-manager-policy=static',
  '--reserved-cpus=0',
  '--memory-manager-policy=Static',
  '--reserved-memory=0:memory=100Mi',
];

function pinned(name: string): ReturnType<typeof makePod> {
  const amounts = { cpu: '1', memory: '32Mi' };
  return makePod(name, { containers: [shell('app', serve, { resources: { requests: amounts, limits: amounts } })] });
}

async function cpusOf(pod: string): Promise<string | undefined> {
  const { pid } = await agent.runningContainer(pod);
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
}

/** `0`, or `0,2-7` on a larger machine. */
const withoutCPU1 = /^0(,|$)/;

/** Resolves when the container of `shared` was moved away from CPU 1. */
async function isMoved(since = 0): Promise<void> {
  const { id } = await agent.runningContainer('shared');
  const fits = ({ msg, containerID, cpus }: LogEntry): boolean =>
    msg === 'Moved a container to its CPUs' && containerID === id && withoutCPU1.test(String(cpus));
  await agent.waitForLog(fits, since);
}

beforeAll(async () => {
  agent = await startAgent({ flags });
  await agent.write('shared.yaml', makePod('shared', { containers: [shell('app', serve)] }));
  await agent.untilPod('shared', isReady);
  await agent.write('pinned.yaml', pinned('pinned'));
  await agent.untilPod('pinned', isReady);
});
afterAll(() => agent.cleanUp());

test('a pod has a CPU for itself, and another pod is moved away', async () => {
  expect(await cpusOf('pinned')).toBe('1');
  await isMoved();
  expect(await cpusOf('shared')).toMatch(withoutCPU1);
});

test('a pod that finds no CPU is refused, with the reason in describe', async () => {
  const online = await readFile('/sys/devices/system/cpu/online', 'utf8');
  // All CPUs but the reserved one, of which one is taken.
  const amounts = { cpu: String(Number(online.trim().split('-').at(-1))), memory: '32Mi' };
  const large = shell('app', serve, { resources: { requests: amounts, limits: amounts } });
  await agent.write('large.yaml', makePod('large', { containers: [large] }));
  await agent.waitForLog(({ reason }) => reason === 'UnexpectedAdmissionError');
  const { stdout } = await agent.cli(['describe', 'large']);
  expect(stdout).toContain('Allocate failed due to not enough cpus available to satisfy request');
});

test('an agent that starts again leaves the CPUs as they are', async () => {
  await agent.stop();
  const since = agent.logs.length;
  await agent.start();
  // It does not know what the earlier agent did.
  await isMoved(since);
  expect([await cpusOf('pinned'), await cpusOf('shared')]).toEqual(['1', expect.stringMatching(withoutCPU1) as string]);
});
