import { watch } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readCgroupMounts } from '../../src/engine/container-manager/cgroup-mounts.ts';
import { type Agent, startAgent } from './agent.ts';
import { deadlineMs } from './deadline.ts';
import { makePod, serve, shell } from './manifests.ts';

/** CPU 0 is reserved, the others are for containers. */
const last = cpus().length - 1;
const allCPUs = `0-${last}`;
const exclusiveCPUs = last === 1 ? '1' : `1-${last}`;

const resources = { requests: { cpu: String(last), memory: '16Mi' }, limits: { cpu: String(last), memory: '16Mi' } };
const exclusive = (name: string) => makePod(name, { containers: [shell('app', serve, { resources })] });
const shared = makePod('shared', { containers: [shell('app', serve)] });

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent({
    flags: [
      ...['--cpu-manager-policy', 'static', '--reserved-cpus', '0', '--cpu-manager-reconcile-period', '1s'],
      ...['--memory-manager-policy', 'Static', '--reserved-memory', '0:memory=100Mi'],
    ],
  });
});
afterEach(() => agent.removeAll());
afterAll(() => agent.cleanUp());

test('a container that requests whole CPUs has them for itself, and others are moved off them and back', async () => {
  await agent.write('shared.yaml', shared);
  await agent.untilReady('shared');
  expect(await cpusOf('shared')).toBe(allCPUs);
  await agent.write('first.yaml', exclusive('first'));
  await agent.untilReady('first');
  expect(await cpusOf('first')).toBe(exclusiveCPUs);
  await untilCPUs('shared', '0');
  await agent.remove('first.yaml');
  await untilCPUs('shared', allCPUs);
});

test('a pod for which no CPUs are left waits until they are free', async () => {
  await agent.write('first.yaml', exclusive('first'));
  await agent.untilReady('first');
  await agent.write('second.yaml', exclusive('second'));
  const { pod } = await agent.untilPod('second', (entry) => entry.rejection !== undefined);
  expect(pod.status).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
  await agent.remove('first.yaml');
  await agent.untilReady('second');
  expect(await cpusOf('second')).toBe(exclusiveCPUs);
});

test('a container keeps its CPUs when the agent starts again, also with a damaged state file', async () => {
  await agent.write('first.yaml', exclusive('first'));
  const { pod } = await agent.untilReady('first');
  const { id } = await agent.runningContainer('first');
  const stateFile = join(agent.rootDir, 'cpu_manager_state');
  await agent.kill9();
  const state: unknown = JSON.parse(await readFile(stateFile, 'utf8'));
  expect(state).toMatchObject({ defaultCpuSet: '0', entries: { [pod.metadata.uid]: { app: exclusiveCPUs } } });
  await writeFile(stateFile, '{"policyName":');
  await agent.start();
  await agent.untilReady('first');
  expect({ id: (await agent.runningContainer('first')).id, cpus: await cpusOf('first') }).toEqual({
    id,
    cpus: exclusiveCPUs,
  });
  await agent.stop();
  expect(JSON.parse(await readFile(stateFile, 'utf8'))).toEqual(state);
  expect(await readFile(`${stateFile}.unusable`, 'utf8')).toBe('{"policyName":');
  await agent.start();
  await agent.untilReady('first');
  expect((await agent.runningContainer('first')).id).toBe(id);
});

/** CPUs of the pod's only container, as its cgroup has them. */
async function cpusOf(name: string): Promise<string> {
  return (await readFile(await fileOf(name), 'utf8')).trim();
}

/** Resolves when the pod's only container has these CPUs, as the kernel tells. */
async function untilCPUs(name: string, expected: string): Promise<void> {
  const file = await fileOf(name);
  const deadline = AbortSignal.timeout(deadlineMs);
  const watcher = watch(file, { signal: deadline });
  try {
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        void readFile(file, 'utf8').then((found) => {
          if (found.trim() === expected) resolve();
        }, reject);
      };
      watcher.on('change', look);
      deadline.addEventListener('abort', () => {
        reject(new Error(`${file} never was ${expected}`));
      });
      // It may have changed before the watch.
      look();
    });
  } finally {
    watcher.close();
  }
}

async function fileOf(name: string): Promise<string> {
  const { pid } = await agent.runningContainer(name);
  const { version } = await readCgroupMounts();
  const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8');
  const [, path = ''] = (version === 1 ? /^\d+:cpuset:(.*)$/m : /^0::(.*)$/m).exec(cgroups) ?? [];
  return join('/sys/fs/cgroup', version === 1 ? 'cpuset' : '', path, 'cpuset.cpus');
}
