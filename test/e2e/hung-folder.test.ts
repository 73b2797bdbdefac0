import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { hungMount } from '../support/hung-mount.ts';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

test('a folder of manifests that hangs delays nothing else, and neither does a hung hostPath, and the agent ends', async ({
  onTestFinished,
}) => {
  const hung = join(await temporaryFolder(), 'hung');
  await mkdir(hung);
  const mount = await hungMount(hung);
  onTestFinished(() => mount.release());
  const pod = (name: string, spec = {}) => makePod(name, { containers: [shell('app', serve)], ...spec });
  const agent = await Agent.create({ manifests: { 'web.yaml': pod('web') }, flags: ['--pod-manifest-path', hung] });
  onTestFinished(() => agent.cleanUp());
  await agent.start();
  await agent.untilReady('web');
  const { sources } = await agent.until(() => true);
  expect(sources.flatMap(({ problems }) => problems.map(({ origin, message }) => ({ origin, message })))).toEqual([
    { origin: hung, message: 'its file system does not answer' },
  ]);
  const volumes = [{ name: 'data', hostPath: { path: hung, type: 'Directory' } }];
  await agent.write('stuck.yaml', pod('stuck', { volumes }));
  await agent.write('db.yaml', pod('db'));
  await agent.untilReady('db');
  expect(await agent.cli(['restart', 'web'])).toMatchObject({ code: 0 });
  expect(await agent.stop()).toEqual({ code: null, signal: 'SIGKILL' });
  expect(agent.logText()).toContain('a file system does not answer; kubelet-ts kills itself');
});
