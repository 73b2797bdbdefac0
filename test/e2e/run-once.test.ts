import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebServer } from '../fakes/web-server.ts';
import { Agent } from './agent.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await Agent.create();
});
afterEach(async () => {
  await agent.down();
  for (const name of await readdir(agent.manifestsFolder)) await agent.remove(name);
});
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
    const { code, stdout, stderr } = await runOnce(job);
    // One that is restarted may write more before its first end is known.
    expect({ code, stdout: stdout.slice(0, 21), stderr }).toEqual({
      code: 3,
      stdout: 'reading\nno such file\n',
      stderr: expect.stringMatching(/(^|\n)default\/job-edge1: failed: container app exited with code 3\n$/) as string,
    });
  },
);

test('a pod that completes exits with 0', async () => {
  const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] });
  expect(await runOnce(job)).toEqual({ code: 0, stdout: '', stderr: 'default/job-edge1: completed\n' });
});

test('a pod that completes runs anew each time', async () => {
  const script = 'cat /proc/sys/kernel/random/uuid';
  const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', script)] });
  const [first, second] = [await runOnce(job), await runOnce(job)];
  expect([first.code, second.code, new Set([first.stdout, second.stdout]).size]).toEqual([0, 0, 2]);
});

test('in a job of GitHub the result is an annotation, a summary and a JUnit report', async () => {
  const summary = join(agent.rootDir, 'summary.md');
  const report = join(agent.rootDir, 'report.xml');
  const neverReady = { readinessProbe: { exec: { command: ['false'] } } };
  await agent.write('web.yaml', makePod('web', { containers: [shell('app', serve, neverReady)] }));
  const script = 'echo "::error::$GREETING"; exit 3';
  const app = { ...shell('app', script), image: 'localhost/nothing:1' };
  await agent.write('test.yaml', makePod('test', { restartPolicy: 'Never', containers: [app] }));
  const flags = ['--rm', '--exit-code-from', 'test', '--env', 'GREETING=hello', '--set', 'image=localhost/busybox:1'];
  const run = ['run-once', ...flags, '--junit', report, agent.manifestsFolder];
  const environment = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary };
  const { code, stdout, stderr } = await agent.cli(run, { environment });
  const token = /stop-commands::(.*)/.exec(stderr)?.[1] ?? '';
  expect({ code, stdout, stderr }).toEqual({
    code: 3,
    stdout: '\u001b[36m[pod/test-edge1/app]\u001b[39m ::error::hello\n',
    stderr: [
      '::group::Output of the pods',
      `::stop-commands::${token}`,
      `::${token}::`,
      '::endgroup::',
      'POD                  RESULT           EXIT   TIME   MESSAGE',
      'default/test-edge1   failed           3      0.0s   container app exited with code 3',
      'default/web-edge1    not waited for   0',
      'default/test-edge1, container app:',
      '  | ::error::hello',
      '::error title=default/test-edge1::container app exited with code 3',
      '',
    ].join('\n'),
  });
  expect(await readFile(summary, 'utf8')).toContain('| default/test-edge1 | failed | 3 |');
  expect(await readFile(report, 'utf8')).toContain('<failure message="container app exited with code 3" type="Error">');
});

describe('--isolated', () => {
  const runsLeft = async (): Promise<string[]> =>
    (await readdir(join(agent.rootDir, 'runs'))).filter((name) => !name.startsWith('.'));
  const untilBoth = 'touch /gate/$NAME; until [ "$(ls /gate | wc -l)" = 2 ]; do sleep 0.1; done; echo $NAME';

  test('two runs of one manifest go on side by side, and leave nothing', async () => {
    const gate = join(agent.rootDir, 'both');
    const env = [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    const app = shell('app', untilBoth, { env, volumeMounts: [{ name: 'gate', mountPath: '/gate' }] });
    const job = makePod('job', { restartPolicy: 'Never', volumes: [hostFolder('gate', gate)], containers: [app] });
    const [first, second] = await Promise.all([runOnce(job, '--isolated'), runOnce(job, '--isolated')]);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect([first.stdout, second.stdout].sort()).toEqual((await readdir(gate)).sort().map((name) => `${name}\n`));
    expect(first.stdout).toMatch(/^job-run-[0-9a-f]{8}\n$/);
    expect(await runsLeft()).toEqual([]);
  });

  test('the next run removes what a killed one left', async () => {
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', `echo begun; ${serve}`)] });
    const run = agent.spawn(['run-once', '--isolated', '-'], { input: JSON.stringify(job) });
    await once(run.stdout, 'data');
    const [killed = ''] = await runsLeft();
    run.kill('SIGKILL');
    await run;
    const next = makePod('next', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] });
    const { code, stderr } = await runOnce(next, '--isolated');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^default\/next-run-[0-9a-f]{8}: completed\n$/) as string,
    });
    expect({ killed, left: await runsLeft() }).toEqual({ killed: expect.stringMatching(/^run-/) as string, left: [] });
    const connection = await agent.connect();
    expect((await connection.runtime.listPodSandbox({ filter: {} })).items).toEqual([]);
    connection.close();
  });
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
  const { code, stdout, stderr } = await runOnce(cronJob);
  expect({ code, stdout, stderr }).toEqual({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('A CronJob runs here as one pod of its template; ignored: schedule') as string,
  });
  expect(stderr.split('A CronJob runs here')).toHaveLength(2);
  expect(stderr).toContain('default/job-edge1: failed: container app exited with code 5\n');
});

test('a pod that serves exits with 0 once it is Ready, and goes on', async () => {
  const web = makePod('web', { containers: [shell('app', serve)] });
  expect(await runOnce(web)).toEqual({ code: 0, stdout: '', stderr: 'default/web-edge1: ready\n' });
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
    stderr: 'default/job-edge1: failed: container app exited with code 4\n',
  });
  server.answer = { status: 404 };
  expect(await run()).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(`${server.url()}: error: the server answered 404 (`) as string,
  });
});

test('--timeout gives up with 124, and says what it waited for', async () => {
  const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', `echo begun; ${serve}`)] });
  expect(await runOnce(job, '--timeout', '2s')).toEqual({
    code: 124,
    stdout: 'begun\n',
    stderr: 'default/job-edge1: timed out: not done after 2s: container app still runs\n',
  });
});

test('an image that is not there and may not be pulled exits with 125', async () => {
  const job = makePod('job', {
    restartPolicy: 'Never',
    containers: [{ name: 'app', image: 'localhost/nothing:1', imagePullPolicy: 'Never' }],
  });
  const { code, stderr } = await runOnce(job);
  expect({ code, stderr: stderr.split('\n').at(-2)?.split(': ').slice(0, 3) }).toEqual({
    code: 125,
    stderr: ['default/job-edge1', 'not started', 'ErrImageNeverPull'],
  });
});

test('what a container writes is shown while it runs', async () => {
  const gate = join(agent.rootDir, 'gate');
  const script = 'echo begun; until [ -e /gate/open ]; do sleep 0.1; done; echo ended; echo bad >&2';
  const app = shell('app', script, { volumeMounts: [{ name: 'gate', mountPath: '/gate' }] });
  const job = makePod('job', { restartPolicy: 'Never', volumes: [hostFolder('gate', gate)], containers: [app] });
  const run = agent.spawn(['run-once', '-'], { input: JSON.stringify(job) });
  await once(run.stdout, 'data');
  await writeFile(join(gate, 'open'), '');
  expect(await run).toMatchObject({
    exitCode: 0,
    stdout: 'begun\nended\n',
    stderr: 'bad\ndefault/job-edge1: completed\n',
  });
});

test('all that a container wrote is shown, also when its pod is removed at once', async () => {
  const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'seq 1 2000; printf end')] });
  const { code, stdout } = await runOnce(job, '--rm');
  const lines = stdout.split('\n');
  expect({ code, count: lines.length, last: lines.slice(-2) }).toEqual({ code: 0, count: 2001, last: ['2000', 'end'] });
  expect(lines.findIndex((line, index) => line !== String(index + 1))).toBe(2000);
});

test('lines of several containers begin with pod and container, and the last ones of that which failed come again', async () => {
  const sleep = 'sleep 1;';
  const job = makePod('job', {
    restartPolicy: 'Never',
    containers: [shell('a', `echo from a; ${sleep} exit 3`), shell('b', 'printf from-b')],
  });
  const { code, stdout, stderr } = await runOnce(job);
  expect({ code, stdout: stdout.split('\n').sort(), stderr }).toEqual({
    code: 3,
    stdout: ['', '[pod/job-edge1/a] from a', '[pod/job-edge1/b] from-b'],
    stderr: 'default/job-edge1: failed: container a exited with code 3\n  | from a\n',
  });
});

test.each([
  [['nope'], 127],
  [['/etc'], 126],
])('a command that cannot be run, %j, exits with %d, whatever the restart policy', async (command, exitCode) => {
  const containers = [{ name: 'app', image: 'localhost/busybox:1', command }];
  const { code, stderr } = await runOnce(makePod('job', { restartPolicy: 'OnFailure', containers }), '--rm');
  expect({ code, stderr }).toEqual({
    code: exitCode,
    stderr: expect.stringContaining('default/job-edge1: failed: container app could not be started: ') as string,
  });
});

test('an image that no registry has exits with 125 at once, and each warning is told once', async () => {
  const registry = await WebServer.start({ host: '127.0.0.1' });
  registry.answer = { status: 404 };
  const image = `${new URL(registry.url()).host}/nothing:1`;
  const job = makePod('job', { restartPolicy: 'OnFailure', containers: [{ name: 'app', image }] });
  const { code, stderr } = await runOnce(job, '--rm');
  expect({ code, told: stderr.match(/not found/g)?.length }).toEqual({ code: 125, told: 2 });
  expect(stderr).toMatch(/^default\/job-edge1: not started: ErrImagePull: .*not found$/m);
});

test('--rm leaves nothing of the pods', async () => {
  const web = makePod('web', { containers: [shell('app', serve)] });
  expect(await runOnce(web, '--rm')).toMatchObject({ code: 0 });
  expect(await agent.cli(['ps', '-o', 'name'])).toMatchObject({ code: 0, stdout: '' });
  expect((await agent.down()).stdout).toBe('');
});

const ended = (exitCode: number, reason: string): object => ({
  name: 'app',
  state: 'ended',
  exitCode,
  reason,
  startedAt: expect.stringMatching(/^\d{4}-/) as string,
  finishedAt: expect.stringMatching(/^\d{4}-/) as string,
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
        { pod: 'default/a-edge1', outcome: 'completed', exitCode: 0, message: '', containers: [ended(0, 'Completed')] },
        {
          pod: 'default/b-edge1',
          outcome: 'failed',
          exitCode: 4,
          message: 'container app exited with code 4',
          container: 'app',
          log: 'bad\n',
          containers: [{ ...ended(4, 'Error'), log: 'bad\n' }],
        },
      ],
    },
    stderr: '[pod/b-edge1/app] bad\n',
  });
});
