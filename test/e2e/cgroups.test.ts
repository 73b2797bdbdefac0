import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  type CgroupController,
  type CgroupMounts,
  readCgroupMounts,
} from '../../src/engine/container-manager/cgroup-mounts.ts';
import { type Agent, startAgent } from './agent.ts';
import { cgroupFolders } from './leftovers.ts';
import { makePod, serve, shell } from './manifests.ts';

const mebibyte = 1024 ** 2;

let mounts: CgroupMounts;
let agent: Agent;

beforeAll(async () => {
  mounts = await readCgroupMounts();
  agent = await startAgent({ flags: ['--pod-max-pids', '64', '--system-reserved', 'memory=512Mi,pid=1000'] });
});
afterEach(() => agent.removeAll());
afterAll(() => agent.cleanUp());

/** Where a cgroup of the agent's pods has its settings of this controller. */
function folderOf(controller: CgroupController, ...path: string[]): string {
  const top = mounts.controllers.get(controller);
  if (top === undefined) throw new Error(`this machine has no cgroup controller ${controller}`);
  return join(top, agent.cgroupRoot, 'kubepods', ...path);
}

/** A setting of a cgroup; the files are named for cgroup v1 and v2. */
async function setting(
  controller: CgroupController,
  files: Record<'v1' | 'v2', string>,
  ...path: string[]
): Promise<string> {
  const file = mounts.version === 1 ? files.v1 : files.v2;
  return (await readFile(join(folderOf(controller, ...path), file), 'utf8')).trim();
}

const memoryLimit = { v1: 'memory.limit_in_bytes', v2: 'memory.max' };
const cpuShare = { v1: 'cpu.shares', v2: 'cpu.weight' };
const processLimit = { v1: 'pids.max', v2: 'pids.max' };

/** 100m CPU and 32 MiB asked for, 500m and 64 MiB at most, twice. */
const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '500m', memory: '64Mi' } };
const limited = makePod('web', {
  containers: [shell('app', serve, { resources }), shell('helper', serve, { resources })],
});

/** A process that ends with the test. */
function startProcess(): ChildProcess & { pid: number } {
  const child = spawn('sleep', ['3600'], { stdio: 'ignore' });
  const { pid } = child;
  if (pid === undefined) throw new Error('sleep did not start');
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return Object.assign(child, { pid });
}

test('a pod is held to the limits of all its containers, and each container to its own', async () => {
  await agent.write('web.yaml', limited);
  const { pod } = await agent.untilReady('web');
  const path = ['burstable', `pod${pod.metadata.uid}`];
  expect({
    share: await setting('cpu', cpuShare, ...path),
    memory: await setting('memory', memoryLimit, ...path),
    processes: await setting('pids', processLimit, ...path),
    quota: await setting('cpu', { v1: 'cpu.cfs_quota_us', v2: 'cpu.max' }, ...path),
  }).toEqual({
    share: mounts.version === 1 ? '204' : '8',
    memory: String(128 * mebibyte),
    processes: '64',
    quota: mounts.version === 1 ? '100000' : '100000 100000',
  });
  const inside = mounts.version === 1 ? '/sys/fs/cgroup/memory/memory.limit_in_bytes' : '/sys/fs/cgroup/memory.max';
  expect(await agent.cli(['exec', 'web', '-c', 'app', '--', 'cat', inside])).toMatchObject({
    code: 0,
    stdout: `${64 * mebibyte}\n`,
  });
});

test('all pods together leave the machine what it keeps, and the Burstable ones share what they ask for', async () => {
  await agent.write('web.yaml', limited);
  await agent.untilReady('web');
  const pageSize = 4096;
  const left = Math.floor((totalmem() - 512 * mebibyte) / pageSize) * pageSize;
  expect(await setting('memory', memoryLimit)).toBe(String(left));
  expect(await setting('cpu', cpuShare, 'burstable')).toBe(mounts.version === 1 ? '204' : '8');
  expect(await setting('cpu', cpuShare, 'besteffort')).toBe(mounts.version === 1 ? '2' : '1');
});

test('what still runs in the cgroup of a pod that was removed ends, and the cgroup goes', async () => {
  await agent.write('web.yaml', limited);
  const { pod } = await agent.untilReady('web');
  const stray = startProcess();
  const ended = once(stray, 'exit');
  for (const controller of mounts.controllers.keys()) {
    const folder = folderOf(controller, 'burstable', `pod${pod.metadata.uid}`);
    await writeFile(join(folder, 'cgroup.procs'), String(stray.pid));
  }
  await agent.removeAll();
  expect(await ended).toEqual([null, 'SIGKILL']);
  const left = await cgroupFolders(agent.cgroupRoot);
  expect(left.filter((folder) => folder.includes(pod.metadata.uid))).toEqual([]);
});

test('the cgroup of a pod of another agent is left alone', async () => {
  const folder = folderOf('pids', 'burstable', 'pod-of-another-agent');
  await mkdir(folder);
  const stranger = startProcess();
  await writeFile(join(folder, 'cgroup.procs'), String(stranger.pid));
  await agent.write('web.yaml', limited);
  await agent.untilReady('web');
  await agent.removeAll();
  const down = await agent.down();
  expect(down.code).toBe(0);
  expect(await readFile(join(folder, 'cgroup.procs'), 'utf8')).toBe(`${stranger.pid}\n`);
  const gone = once(stranger, 'exit');
  stranger.kill('SIGKILL');
  await gone;
  await rmdir(folder);
  await agent.start();
});

test('a pod that runs keeps its cgroup as it is when the agent starts again', async () => {
  await agent.write('web.yaml', limited);
  const { pod } = await agent.untilReady('web');
  const { id } = await agent.runningContainer('web', 'app');
  const path = ['burstable', `pod${pod.metadata.uid}`];
  const file = join(folderOf('memory', ...path), mounts.version === 1 ? memoryLimit.v1 : memoryLimit.v2);
  await agent.stop();
  await writeFile(file, String(256 * mebibyte));
  await agent.start();
  await agent.untilReady('web');
  expect(await setting('memory', memoryLimit, ...path)).toBe(String(256 * mebibyte));
  expect((await agent.runningContainer('web', 'app')).id).toBe(id);
});
