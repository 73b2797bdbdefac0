import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { WebServer } from '../fakes/web-server.ts';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await Agent.create();
});
afterEach(() => agent.down());
afterAll(() => agent.cleanUp());

/** Runs a pod once from stdin. */
const runOnce = (manifest: unknown, ...flags: string[]) =>
  agent.cli(['run-once', ...flags, '-'], { input: JSON.stringify(manifest) });

test.each(['Never', 'Always'])(
  'a container that fails decides the exit code with restartPolicy %s',
  async (restartPolicy) => {
    const job = makePod('job', {
      restartPolicy,
      containers: [shell('app', 'echo reading; echo no such file; exit 3')],
    });
    expect(await runOnce(job)).toEqual({
      code: 3,
      stdout: 'default/job-edge1: failed: container app exited with code 3\n  | reading\n  | no such file\n',
      stderr: '',
    });
  },
);

test('a pod that completes exits with 0', async () => {
  const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] });
  expect(await runOnce(job)).toEqual({ code: 0, stdout: 'default/job-edge1: completed\n', stderr: '' });
});

test('a CronJob runs once, whatever its schedule', async () => {
  const { metadata, spec } = makePod('job', { containers: [shell('app', 'exit 5')] }) as {
    metadata: object;
    spec: object;
  };
  const template = { spec: { ...spec, restartPolicy: 'Never' } };
  const cronJob = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata,
    spec: { schedule: '@yearly', jobTemplate: { spec: { template } } },
  };
  expect(await runOnce(cronJob)).toEqual({
    code: 5,
    stdout: 'default/job-edge1: failed: container app exited with code 5\n',
    stderr: expect.stringContaining('A CronJob runs here as one pod of its template; ignored: schedule') as string,
  });
});

test('a pod that serves exits with 0 once it is Ready, and goes on', async () => {
  const web = makePod('web', { containers: [shell('app', serve)] });
  expect(await runOnce(web)).toEqual({ code: 0, stdout: 'default/web-edge1: ready\n', stderr: '' });
  expect((await agent.cli(['ps', '-o', 'name'])).stdout).toBe('pod/web-edge1\n');
});

test('a broken manifest starts nothing and is told by file, line and field', async () => {
  const file = join(agent.rootDir, 'broken.yaml');
  await writeFile(
    file,
    [
      'apiVersion: v1',
      'kind: Pod',
      'metadata: {name: web}',
      'spec:',
      '  containers:',
      '    - name: app',
      '      imagePullPolicy: Sometimes',
    ].join('\n'),
  );
  const { code, stdout, stderr } = await agent.cli(['run-once', file]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.split('\n').slice(0, 2)).toEqual([
    'error: broken manifest, nothing was started',
    expect.stringMatching(new RegExp(`^${file}:\\d+:\\d+: error: spec\\.containers\\[0\\]\\.`)),
  ]);
  expect((await agent.cli(['ps', '-o', 'name'])).stdout).toBe('');
});

test('the mirror of a static pod is refused, as it would be waited for in vain', async () => {
  const annotations = { 'kubernetes.io/config.mirror': 'x' };
  const { code, stdout, stderr } = await runOnce(makePod('web', { annotations, containers: [shell('app', serve)] }));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('error: pod default/web-edge1 is marked as the mirror of a static pod\n');
});

test('the pods of a URL run once, or it is said why they cannot', async () => {
  const server = await WebServer.start();
  server.answer = JSON.stringify(makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'exit 4')] }));
  const run = () => agent.cli(['run-once', '--manifest-url', server.url()]);
  expect(await run()).toMatchObject({
    code: 4,
    stdout: 'default/job-edge1: failed: container app exited with code 4\n',
  });
  server.answer = { status: 404 };
  expect(await run()).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(`${server.url()}: error: the server answered 404 (`) as string,
  });
});

test('--timeout gives up with 124', async () => {
  const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', serve)] });
  expect(await runOnce(job, '--timeout', '1s')).toEqual({
    code: 124,
    stdout: 'default/job-edge1: timed out: not done after 1s\n',
    stderr: '',
  });
});

test('an image that is not there and may not be pulled exits with 125', async () => {
  const job = makePod('job', {
    restartPolicy: 'Never',
    containers: [{ name: 'app', image: 'localhost/nothing:1', imagePullPolicy: 'Never' }],
  });
  const { code, stdout } = await runOnce(job);
  expect({ code, stdout: stdout.split(': ').slice(0, 3) }).toEqual({
    code: 125,
    stdout: ['default/job-edge1', 'not started', 'ErrImageNeverPull'],
  });
});

test('--rm leaves nothing of the pods', async () => {
  const web = makePod('web', { containers: [shell('app', serve)] });
  expect(await runOnce(web, '--rm')).toMatchObject({ code: 0 });
  expect(await agent.cli(['ps', '-o', 'name'])).toMatchObject({ code: 0, stdout: '' });
  expect((await agent.down()).stdout).toBe('');
});

test('-o json is the result of every pod', async () => {
  const folder = agent.manifestsFolder;
  await agent.write('a.yaml', makePod('a', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] }));
  await agent.write('b.yaml', makePod('b', { restartPolicy: 'Never', containers: [shell('app', 'echo bad; exit 4')] }));
  const { code, stdout, stderr } = await agent.cli(['run-once', '-o', 'json', folder]);
  expect({ code, result: JSON.parse(stdout) as unknown, stderr }).toEqual({
    code: 4,
    result: {
      exitCode: 4,
      pods: [
        { pod: 'default/a-edge1', outcome: 'completed', exitCode: 0, message: '' },
        {
          pod: 'default/b-edge1',
          outcome: 'failed',
          exitCode: 4,
          message: 'container app exited with code 4',
          container: 'app',
          log: 'bad\n',
        },
      ],
    },
    stderr: '',
  });
});
