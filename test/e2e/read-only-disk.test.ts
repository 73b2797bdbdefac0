import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { identify } from '../../src/process/process-identity.ts';
import { mountLoopDisk } from '../support/loop-disk.ts';
import { Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { imagesFolder } from './program.ts';

test('on a disk that became read-only no containerd is replaced, doctor says it, and down stops the pods', async () => {
  const disk = await mountLoopDisk({ mebibytes: 300 });
  onTestFinished(() => disk.remove());
  const web = makePod('web', { terminationGracePeriodSeconds: 1, containers: [shell('app', serve)] });
  const agent = await startAgent({ folder: disk.folder, manifests: { 'web.yaml': web } });
  onTestFinished(() => Agent.endEverything(agent));
  await agent.untilReady('web');
  const { pid } = await agent.runningContainer('web');
  const containerd = await agent.containerdPid();
  await disk.fail();

  expect(await agent.cli(['images', 'load', join(imagesFolder, 'flock.tar')])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('read-only file system') as string,
  });
  expect(await agent.containerdPid()).toBe(containerd);
  expect(await identify(pid)).toBeDefined();

  expect((await agent.cli(['doctor'])).stdout).toContain(`root-dir ${agent.rootDir} is on a disk that is read-only`);
  const down = await agent.down('--all');
  expect(down).toMatchObject({ code: 1, stderr: expect.stringContaining('it is stopped, but') as string });
  expect(down.stdout).toBe('kubelet-ts stopped\nmanaged containerd stopped\n');
  expect(await identify(pid)).toBeUndefined();
});
