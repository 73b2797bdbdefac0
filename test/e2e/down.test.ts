import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { EngineSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, startAgent } from './agent.ts';
import { cgroupFolders, findLeftovers } from './leftovers.ts';
import { makePod, serve, shell } from './manifests.ts';
import { untilGone } from './until-gone.ts';

let agent: Agent;
/** As kubeadm has its: made for a pod that wants it, and in the way of who finds it empty. */
let schedulerConf: string;
let lastGood: string;

beforeEach(async () => {
  agent = await startAgent();
  schedulerConf = join(agent.rootDir, 'scheduler.conf');
  lastGood = join(agent.rootDir, 'manifests-last-good');
});
afterEach(() => agent.cleanUp());

const scheduler = (script = serve, more = {}): object =>
  makePod('scheduler', {
    volumes: [{ name: 'conf', hostPath: { path: schedulerConf, type: 'FileOrCreate' } }],
    containers: [shell('app', script, { volumeMounts: [{ name: 'conf', mountPath: '/conf' }] })],
    ...more,
  });

/** Everything that is declared was read. */
const isRead = ({ sources }: EngineSnapshot): boolean => sources.every(({ ready }) => ready);

/** Runs the pod and takes it down; then its manifests and its file go too. */
async function tornDown(): Promise<void> {
  await agent.write('scheduler.json', scheduler());
  await agent.untilReady('scheduler');
  expect(await agent.down()).toEqual({
    code: 0,
    stdout: 'kubelet-ts stopped\npod default/scheduler-edge1 removed\n',
    stderr: '',
  });
  await rm(agent.manifestsFolder, { recursive: true });
  await rm(schedulerConf);
}

test('what down tore down does not come back, while its folder is away and when it is back and empty', async () => {
  await tornDown();
  await agent.start();
  expect((await agent.until(isRead)).pods).toEqual([]);
  expect(await agent.down()).toMatchObject({ code: 0 });
  await mkdir(agent.manifestsFolder);
  await agent.start();
  expect((await agent.until(isRead)).pods).toEqual([]);
  expect(existsSync(schedulerConf)).toBe(false);
});

test('a pod that was torn down and comes back was never restarted', async () => {
  await agent.write('scheduler.json', scheduler());
  await agent.untilReady('scheduler');
  await agent.down();
  await agent.start();
  const { pod } = await agent.untilReady('scheduler');
  expect(pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
});

test('the next start and the next down remove cgroups that a runtime made again after the end of an agent', async () => {
  await agent.write('web.json', makePod('web', { containers: [shell('app', serve)] }));
  const { uid } = (await agent.untilReady('web')).pod.metadata;
  await agent.remove('web.json');
  await untilGone(join(agent.rootDir, 'pods', uid));
  const makeAgain = async (name: string): Promise<void> => {
    const tiers = (await cgroupFolders(agent.cgroupRoot)).filter((folder) => folder.endsWith('/kubepods/besteffort'));
    for (const tier of tiers) await mkdir(join(tier, name));
  };
  const cgroups = async (): Promise<string[]> => {
    const names = (await cgroupFolders(agent.cgroupRoot)).map((folder) => basename(folder));
    return [...new Set(names)].filter((name) => name.startsWith('pod')).sort();
  };
  await agent.stop();
  await makeAgain(`pod${uid}`);
  await makeAgain('pod-of-another-agent');
  expect(await cgroups()).toEqual(['pod-of-another-agent', `pod${uid}`].sort());
  await agent.start();
  while ((await cgroups()).length > 1) await setImmediate();
  expect(await cgroups()).toEqual(['pod-of-another-agent']);
  await agent.stop();
  await makeAgain(`pod${uid}`);
  expect(await agent.down()).toMatchObject({ code: 0, stderr: '' });
  expect(await cgroups()).toEqual(['pod-of-another-agent']);
  for (const folder of await cgroupFolders(agent.cgroupRoot))
    if (basename(folder).startsWith('pod')) await rmdir(folder);
});

test('down leaves nothing of a container that something else removed from the runtime', async () => {
  const init = shell('init', 'exit 0');
  const pod = (name: string): object => makePod(name, { initContainers: [init], containers: [shell('app', serve)] });
  for (const name of ['web', 'gone']) await agent.write(`${name}.json`, pod(name));
  await agent.untilReady('web');
  const { uid } = (await agent.untilReady('gone')).pod.metadata;
  const connection = await agent.connect();
  onTestFinished(() => {
    connection.close();
  });
  const labelSelector = { 'io.kubernetes.container.name': 'init' };
  const { containers } = await connection.runtime.listContainers({ filter: { labelSelector } });
  for (const { id } of containers) await connection.runtime.removeContainer({ containerId: id });
  // The garbage collection of a running agent takes up to a minute.
  await agent.remove('gone.json');
  await untilGone(join(agent.rootDir, 'pods', uid));
  expect(await agent.down()).toMatchObject({ code: 0 });
  expect((await findLeftovers(agent)).logLinks).toEqual([]);
});

test('a pod whose removal was cut off is removed by the next start, though its manifest is gone', async () => {
  const stubborn = 'trap "" TERM; while :; do sleep 3600 & wait; done';
  await agent.write('scheduler.json', scheduler(stubborn, { terminationGracePeriodSeconds: 30 }));
  const { pod } = await agent.untilReady('scheduler');
  const [saved = ''] = await readdir(lastGood);
  const down = agent.spawn(['down']);
  // The pod has half a minute to end.
  await untilGone(join(lastGood, saved));
  down.kill('SIGKILL');
  await down;
  await rm(agent.manifestsFolder, { recursive: true });
  await mkdir(agent.manifestsFolder);
  await agent.start();
  await untilGone(join(agent.rootDir, 'pods', pod.metadata.uid));
  expect(await agent.findPod(pod.metadata.uid)).toEqual({ containers: [], sandboxes: [], folders: [] });
});

test('what down cannot remove is named with the reason, and the rest goes', async () => {
  await agent.write('scheduler.json', scheduler());
  await agent.untilReady('scheduler');
  await agent.stop();
  await rm(lastGood, { recursive: true });
  await writeFile(lastGood, '');
  const { code, stdout, stderr } = await agent.down();
  expect({ code, stdout }).toEqual({ code: 1, stdout: 'pod default/scheduler-edge1 removed\n' });
  expect(stderr).toContain(`error: ${lastGood} could not be emptied: ENOTDIR`);
  await rm(lastGood);
});

test('down removes pods from the runtime of a killed agent, which only a flag of the agent named', async () => {
  const endpoint = `unix://${join(agent.rootDir, 'containerd/containerd.sock')}`;
  const other = await startAgent({ flags: ['--container-runtime-endpoint', endpoint] });
  const connection = await agent.connect();
  try {
    await other.write('web.json', makePod('web', { containers: [shell('app', serve)] }));
    await other.untilReady('web');
    await other.kill9();
    expect(await other.down()).toEqual({ code: 0, stdout: 'pod default/web-edge1 removed\n', stderr: '' });
    const { runtime } = connection;
    expect(await Promise.all([runtime.listContainers({}), runtime.listPodSandbox({})])).toEqual([
      { containers: [] },
      { items: [] },
    ]);
  } finally {
    connection.close();
    await other.cleanUp();
  }
});
