import { once } from 'node:events';
import { open, readdir, rename, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

const database = ({ rootDir }: Agent): string =>
  join(managedPaths(rootDir).root, 'io.containerd.metadata.v1.bolt/meta.db');

/** As after a power cut: containerd panics when it reads a database that lacks its second half. */
async function cutInHalf(file: string): Promise<void> {
  await truncate(file, Math.trunc((await stat(file)).size / 2));
}

async function overwriteStart(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  await handle.write(Buffer.alloc(16 * 1024, 0x5a), 0, undefined, 0);
  await handle.close();
}

const aside = async ({ rootDir }: Agent): Promise<string[]> =>
  (await readdir(managedPaths(rootDir).base)).filter((name) => name.startsWith('root'));

const web = makePod('web', { terminationGracePeriodSeconds: 5, containers: [shell('app', serve)] });
const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'echo done')] });

test('after a power cut that damaged the store of containerd, all pods run again, and no completed job', async () => {
  const agent = await startAgent({ manifests: { 'web.yaml': web, 'job.yaml': job } });
  onTestFinished(() => agent.cleanUp());
  await agent.untilReady('web');
  const isDone: Parameters<Agent['untilPod']>[1] = ({ pod }) => pod.status?.phase === 'Succeeded';
  await agent.untilPod('job', isDone);
  for (const damage of [cutInHalf, overwriteStart]) {
    // It has written down that the job is done.
    await agent.stop();
    await agent.powerOff();
    await damage(database(agent));
    const since = agent.logs.length;
    await agent.start();
    await agent.untilReady('web');
    await agent.untilPod('job', isDone);
    const logged = agent.logs.slice(since);
    expect(logged.find(({ reason }) => reason === 'ContainerdStoreReplaced')?.msg).toMatch(
      /^The store of containerd was damaged and is replaced\. The old store \(\d+ MiB\) is in .*\/root\.damaged; delete it if you do not need it$/,
    );
    const started = logged.filter(({ reason }) => reason === 'Started').map(({ pod }) => pod);
    expect(started).toEqual(['default/web-edge1']);
    expect(await aside(agent)).toEqual(['root', 'root.damaged']);
  }
});

test('a store that is replaced while the agent runs has the images of the root-dir again', async () => {
  const agent = await startAgent();
  onTestFinished(() => agent.cleanUp());
  await overwriteStart(database(agent));
  process.kill(await agent.containerdPid(), 'SIGKILL');
  await agent.waitForLog(({ reason }) => reason === 'ContainerdStoreReplaced');
  await agent.write('web.yaml', web);
  await agent.untilReady('web');
  expect(await aside(agent)).toEqual(['root', 'root.damaged']);
});

test('a store that another process replaced, such as a killed repair-store, has the images again', async () => {
  const agent = await startAgent();
  onTestFinished(() => agent.cleanUp());
  const { root } = managedPaths(agent.rootDir);
  process.kill(agent.pid, 'SIGSTOP');
  process.kill(await agent.containerdPid(), 'SIGKILL');
  await rename(root, `${root}.damaged`);
  process.kill(agent.pid, 'SIGCONT');
  await agent.waitForLog(({ msg }) => msg === 'containerd exited; restarting it');
  await agent.write('web.yaml', web);
  await agent.untilReady('web');
});

test('with --keep-damaged-store, or while containers run, the start fails with the cure, which works', async () => {
  const agent = await startAgent({ manifests: { 'web.yaml': web }, flags: ['--keep-damaged-store'] });
  onTestFinished(() => agent.cleanUp());
  await agent.untilReady('web');
  await agent.kill9();
  process.kill(await agent.containerdPid(), 'SIGKILL');
  await cutInHalf(database(agent));
  const failed = {
    code: 1,
    stderr: expect.stringMatching(
      /error: The managed containerd did not start: [^]*\n {2}panic: [^]*hint: .*repair-store/,
    ) as string,
  };
  const run = agent.spawn(['run', agent.manifestsFolder, '--no-tui', '--keep-damaged-store=false']);
  const [code] = (await once(run, 'exit')) as [number];
  expect({ code, stderr: (await run).stderr }).toEqual(failed);
  expect(await aside(agent)).toEqual(['root']);
  const damaged =
    /The managed containerd does not run, because its store is damaged: panic: [^]*kubelet-ts repair-store --root-dir/;
  for (const command of [['ps'], ['images', 'list']])
    expect(await agent.cli(command)).toMatchObject({ code: 1, stderr: expect.stringMatching(damaged) as string });
  expect(await agent.cli(['doctor'])).toMatchObject({ code: 1, stdout: expect.stringMatching(damaged) as string });

  expect(await agent.cli(['repair-store'])).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^pods stopped: 1\nThe old store .*\nLoaded image: localhost\/busybox:1\nkubelet-ts run starts the pods again\n$/,
    ) as string,
    stderr: '',
  });
  await agent.start();
  await agent.untilReady('web');

  const { id } = await agent.runningContainer('web');
  const repaired = await agent.cli(['repair-store']);
  expect(repaired).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('kubelet-ts starts the pods again') as string,
  });
  await agent.untilPod('web', ({ pod }) => {
    const [status] = pod.status?.containerStatuses ?? [];
    return status?.ready === true && !(status.containerID ?? '').endsWith(id);
  });
});

test('down stops what runs from a damaged store, and removes it', async () => {
  const agent = await startAgent({ manifests: { 'web.yaml': web } });
  onTestFinished(() => agent.cleanUp());
  await agent.untilReady('web');
  await agent.kill9();
  process.kill(await agent.containerdPid(), 'SIGKILL');
  await overwriteStart(database(agent));
  expect(await agent.down('--keep-damaged-store')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /The containers of 1 pod are stopped, but only containerd can remove them\. The managed/,
    ) as string,
  });
  expect((await agent.down()).code).toBe(0);
  expect(await readdir(join(agent.rootDir, 'pods'))).toEqual([]);
});
