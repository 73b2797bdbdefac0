import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { NetworkNamespace } from './network-namespace.ts';
import { repository } from './program.ts';

let namespace: NetworkNamespace;
let agent: Agent;

beforeAll(async () => {
  namespace = await NetworkNamespace.create();
  agent = await Agent.create({ networkNamespace: namespace.path });
});
afterAll(async () => {
  await agent.cleanUp();
  await namespace.remove();
});

const manifest = (name: string): string => join(repository, 'manifests', name);

test('job.yaml runs once', async () => {
  expect(await agent.cli(['run-once', manifest('job.yaml')])).toMatchObject({
    code: 0,
    stdout: '5050\n',
    stderr: 'default/job-edge1: completed\n',
  });
  expect(await agent.cli(['logs', 'job', '-c', 'sum'])).toEqual({ code: 0, stdout: '5050\n', stderr: '' });
});

test('services.yaml tests a server by the name of its Service', async () => {
  expect(await agent.cli(['run-once', '--rm', '--exit-code-from', 'test', manifest('services.yaml')])).toMatchObject({
    code: 0,
    stdout: '[pod/test-edge1/wget] Hello\n',
  });
});

test('web.yaml and sidecar.yaml serve', async () => {
  for (const name of ['web.yaml', 'sidecar.yaml']) {
    await copyFile(manifest(name), join(agent.manifestsFolder, name));
  }
  await agent.start();
  await agent.untilReady('web');
  await agent.untilReady('app');
  expect(await namespace.run('/bin/busybox', 'wget', '-q', '-O', '-', 'http://127.0.0.1:8080/')).toBe(
    'Hello from web-edge1',
  );
  const follow = agent.spawn(['logs', '-f', 'app', '-c', 'shipper']);
  await once(follow.stdout, 'data');
  await agent.removeAll();
  expect((await follow).stdout).toMatch(/ UTC \d{4}\n(.*\n)*stopping\n$/);
});
