import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { waitForPath } from '../../src/containerd/wait-for-path.ts';
import { withFileLock } from '../../src/files/file-lock.ts';
import { WebServer } from '../fakes/web-server.ts';
import { Agent } from './agent.ts';
import { inTurn } from './containerd-releases.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';
import { untilGone } from './until-gone.ts';

/** A node for tests in turn, beside those of the other node. Every test leaves it without pods. */
function ownNode() {
  let agent: Agent | undefined;
  const node = {
    get agent(): Agent {
      if (agent === undefined) throw new Error('the node is not made');
      return agent;
    },
    /** Runs a pod once from stdin. */
    runOnce: (manifest: unknown, ...flags: string[]) =>
      node.agent.cli(['run-once', ...flags, '-'], { input: JSON.stringify(manifest) }),
  };
  beforeAll(async () => {
    agent = await Agent.create();
  });
  afterEach(async () => {
    for (const name of await readdir(node.agent.manifestsFolder)) await node.agent.remove(name);
  });
  afterAll(() => node.agent.cleanUp());
  return node;
}

describe.concurrent('results and output', () => {
  const node = ownNode();

  test('a pod that completes exits with 0, and runs anew each time', inTurn, async () => {
    const script = 'cat /proc/sys/kernel/random/uuid';
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', script)] });
    const [first, second] = [await node.runOnce(job), await node.runOnce(job, '--rm')];
    const completed = {
      code: 0,
      stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) as string,
      stderr: 'default/job-edge1: completed\n',
    };
    expect([first, second]).toEqual([completed, completed]);
    expect(first.stdout).not.toBe(second.stdout);
  });

  test('in a job of GitHub the result is an annotation, a summary and a JUnit report', inTurn, async () => {
    const summary = join(node.agent.rootDir, 'summary.md');
    const report = join(node.agent.rootDir, 'report.xml');
    const neverReady = { readinessProbe: { exec: { command: ['false'] }, initialDelaySeconds: 600 } };
    await node.agent.write('web.yaml', makePod('web', { containers: [shell('app', serve, neverReady)] }));
    const script = 'echo "::error::$GREETING"; exit 3';
    const app = { ...shell('app', script), image: 'localhost/nothing:1' };
    await node.agent.write('test.yaml', makePod('test', { restartPolicy: 'Never', containers: [app] }));
    const flags = ['--rm', '--exit-code-from', 'test', '--env', 'GREETING=hello', '--set', 'image=localhost/busybox:1'];
    const run = ['run-once', ...flags, '--junit', report, node.agent.manifestsFolder];
    const environment = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary, TERM: 'xterm' };
    const { code, stdout, stderr } = await node.agent.cli(run, { environment });
    // The time of the container depends on the machine, and so does how far the other pod has come.
    const told = stderr.replace(/ \d\.\ds /, ' 0.0s ').replace('Stopping default/web-edge1 (up to 2 s)…\n', '');
    expect({ code, stdout, stderr: told }).toEqual({
      code: 3,
      stdout: '\u001b[36m[pod/test-edge1/app]\u001b[39m \\::error::hello\n',
      stderr: [
        '::group::Output of the pods',
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
    expect(await readFile(report, 'utf8')).toContain(
      '<failure message="container app exited with code 3" type="Error">',
    );
  });

  test(
    'a job with a sidecar ends with its own code, and a report that cannot be written hides nothing',
    inTurn,
    async () => {
      const proxy = shell('proxy', serve, { restartPolicy: 'Always' });
      const job = makePod('job', {
        restartPolicy: 'Never',
        initContainers: [proxy],
        containers: [shell('app', 'exit 3')],
      });
      expect(await node.runOnce(job, '--rm', '--junit', '/dev/full')).toEqual({
        code: 3,
        stdout: '',
        stderr:
          'default/job-edge1: failed: container app exited with code 3\n' +
          'error: /dev/full: no space left on device\n',
      });
    },
  );

  test('a signal and the time-out also end the start', inTurn, async () => {
    const server = await WebServer.start();
    server.answer = () => undefined;
    const run = node.agent.spawn(['run-once', '--manifest-url', server.url()]);
    await server.requests.next(() => true);
    run.kill('SIGTERM');
    const { exitCode, stderr } = await run;
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: 'error: interrupted before the pods ran\n' });
    expect(await node.agent.cli(['run-once', '--timeout', '1s', '--manifest-url', server.url()])).toEqual({
      code: 124,
      stdout: '',
      stderr: 'error: the pods did not run after 1s\nhint: Allow more time with --timeout DURATION.\n',
    });
  });

  // Node also reads --env-file from the words behind the script, unless `--` stands before it.
  test('--env-file is for containers alone', inTurn, async () => {
    const file = join(node.agent.rootDir, 'ci.env');
    await writeFile(file, 'NODE_OPTIONS=--require=/nowhere.js\n');
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'echo "$NODE_OPTIONS"')] });
    expect([
      await node.runOnce(job, '--rm', '--env-file', file),
      await node.runOnce(job, '--rm', '--env-file', '/nowhere'),
    ]).toEqual([
      { code: 0, stdout: '--require=/nowhere.js\n', stderr: 'default/job-edge1: completed\n' },
      { code: 1, stdout: '', stderr: 'error: --env-file: /nowhere: no such file\n' },
    ]);
  });

  test('a pod that serves exits with 0 once it is Ready, and continues, also in the next run', inTurn, async () => {
    const web = makePod('web', { containers: [shell('app', serve)] });
    const ready = { code: 0, stdout: '', stderr: 'default/web-edge1: ready\n' };
    expect(await node.runOnce(web)).toEqual(ready);
    const first = await node.agent.runningContainer('web');
    expect(await node.runOnce(web)).toEqual(ready);
    expect(await node.agent.runningContainer('web')).toEqual(first);
    expect((await node.agent.cli(['ps', '-o', 'name'])).stdout).toBe('pod/web-edge1\n');
    expect((await node.agent.down()).code).toBe(0);
  });

  test('what a container writes is shown while it runs', inTurn, async () => {
    const gate = join(node.agent.rootDir, 'gate');
    const script = 'echo begun; until [ -e /gate/open ]; do sleep 0.1; done; echo ended; echo bad >&2';
    const app = shell('app', script, { volumeMounts: [{ name: 'gate', mountPath: '/gate' }] });
    const job = makePod('job', { restartPolicy: 'Never', volumes: [hostFolder('gate', gate)], containers: [app] });
    const run = node.agent.spawn(['run-once', '--rm', '-'], { input: JSON.stringify(job) });
    await once(run.stdout, 'data');
    await writeFile(join(gate, 'open'), '');
    expect(await run).toMatchObject({
      exitCode: 0,
      stdout: 'begun\nended\n',
      stderr: 'bad\ndefault/job-edge1: completed\n',
    });
  });

  test('--rm leaves nothing of the pods', inTurn, async () => {
    const web = makePod('web', { terminationGracePeriodSeconds: 25, containers: [shell('app', serve)] });
    expect(await node.runOnce(web, '--rm')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Stopping default/web-edge1 (up to 25 s)…\ndefault/web-edge1: ready\n',
    });
    expect(await node.agent.cli(['ps', '-o', 'name'])).toMatchObject({ code: 0, stdout: '' });
    expect((await node.agent.down()).stdout).toBe(`nothing to stop: ${node.agent.rootDir} has no agent and no pods\n`);
  });

  const ended = (exitCode: number, reason: string): object => ({
    name: 'app',
    state: 'ended',
    exitCode,
    reason,
    startedAt: expect.stringMatching(/^\d{4}-/) as string,
    finishedAt: expect.stringMatching(/^\d{4}-/) as string,
  });

  test('-o json is the result of every pod', inTurn, async () => {
    const folder = node.agent.manifestsFolder;
    await node.agent.write('a.yaml', makePod('a', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] }));
    await node.agent.write(
      'b.yaml',
      makePod('b', { restartPolicy: 'Never', containers: [shell('app', 'echo bad; exit 4')] }),
    );
    // It is stopped at the end, of which stderr says nothing.
    await node.agent.write('c.yaml', makePod('c', { containers: [shell('app', serve)] }));
    const { code, stdout, stderr } = await node.agent.cli(['run-once', '--rm', '-o', 'json', folder]);
    expect({ code, result: JSON.parse(stdout) as unknown, stderr }).toEqual({
      code: 4,
      result: {
        exitCode: 4,
        pods: [
          {
            pod: 'default/a-edge1',
            outcome: 'completed',
            exitCode: 0,
            message: '',
            containers: [ended(0, 'Completed')],
          },
          {
            pod: 'default/b-edge1',
            outcome: 'failed',
            exitCode: 4,
            message: 'container app exited with code 4',
            container: 'app',
            log: 'bad\n',
            containers: [{ ...ended(4, 'Error'), log: 'bad\n' }],
          },
          {
            pod: 'default/c-edge1',
            outcome: 'ready',
            exitCode: 0,
            message: '',
            containers: [{ name: 'app', state: 'running', startedAt: expect.stringMatching(/^\d{4}-/) as string }],
          },
        ],
      },
      stderr: '[pod/b-edge1/app] bad\n',
    });
  });
});

describe.concurrent('failures and their ends', () => {
  const node = ownNode();

  describe('--isolated', () => {
    const runsLeft = async (): Promise<string[]> =>
      (await readdir(join(node.agent.rootDir, 'runs'))).filter((name) => !name.startsWith('.'));
    const untilBoth = 'touch /gate/$NAME; until [ "$(ls /gate | wc -l)" = 2 ]; do sleep 0.1; done; echo $NAME';

    test('two runs of one manifest go on side by side, and leave nothing', inTurn, async () => {
      const gate = join(node.agent.rootDir, 'both');
      const env = [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
      const app = shell('app', untilBoth, { env, volumeMounts: [{ name: 'gate', mountPath: '/gate' }] });
      const job = makePod('job', { restartPolicy: 'Never', volumes: [hostFolder('gate', gate)], containers: [app] });
      const [first, second] = await Promise.all([node.runOnce(job, '--isolated'), node.runOnce(job, '--isolated')]);
      expect([first.code, second.code]).toEqual([0, 0]);
      expect([first.stdout, second.stdout].sort()).toEqual((await readdir(gate)).sort().map((name) => `${name}\n`));
      expect(first.stdout).toMatch(/^job-run-[0-9a-f]{8}\n$/);
      expect(await runsLeft()).toEqual([]);
    });

    /** Begins a run that does not end by itself, beside the remains of a killed one. */
    async function beginRun(killed?: string) {
      const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', `echo begun; ${serve}`)] });
      const run = node.agent.spawn(['run-once', '--isolated', '-'], { input: JSON.stringify(job) });
      await once(run.stdout, 'data');
      const name = (await runsLeft()).find((one) => one !== killed) ?? '';
      const kill = async (): Promise<void> => {
        run.kill('SIGKILL');
        await run;
      };
      return { run, name, kill };
    }
    const sandboxes = async (): Promise<unknown[]> => {
      const connection = await node.agent.connect();
      const { items } = await connection.runtime.listPodSandbox({ filter: {} });
      connection.close();
      return items;
    };

    test('down removes what a killed run left, and down --all waits for one that continues', inTurn, async () => {
      const killed = await beginRun();
      await killed.kill();
      const { run, name } = await beginRun(killed.name);
      await untilGone(join(node.agent.rootDir, 'runs', killed.name));
      expect(await runsLeft()).toEqual([name]);
      const error = `error: the managed containerd keeps running, because run-once --isolated uses it: ${name}`;
      expect(await node.agent.cli(['down', '--all'])).toEqual({
        code: 1,
        stdout: '',
        stderr: `${error}\nhint: Wait until it finishes, or stop it with Ctrl-C.\n`,
      });
      run.kill('SIGKILL');
      await run;
      expect(await node.agent.cli(['down'])).toEqual({ code: 0, stdout: `isolated run ${name} removed\n`, stderr: '' });
      expect({ left: await runsLeft(), sandboxes: await sandboxes() }).toEqual({ left: [], sandboxes: [] });
    });

    test('the next run removes what a killed one left', inTurn, async () => {
      const { name: killed, kill } = await beginRun();
      await kill();
      const next = makePod('next', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] });
      const { code, stderr } = await node.runOnce(next, '--isolated');
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(/^default\/next-run-[0-9a-f]{8}: completed\n$/) as string,
      });
      expect({ killed, left: await runsLeft() }).toEqual({
        killed: expect.stringMatching(/^run-/) as string,
        left: [],
      });
      expect(await sandboxes()).toEqual([]);
    });

    test('a signal ends a run that waits for its root-dir', inTurn, async () => {
      const report = join(node.agent.rootDir, 'waits.xml');
      const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] });
      await withFileLock(join(node.agent.rootDir, 'runs', '.lock'), systemClock, async () => {
        const flags = ['--isolated', '--junit', report];
        const run = node.agent.spawn(['run-once', ...flags, '-'], { input: JSON.stringify(job) });
        await waitForPath(report, new AbortController().signal);
        run.kill('SIGTERM');
        const { exitCode, stderr } = await run;
        expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: 'error: interrupted before the pods ran\n' });
      });
      expect(await runsLeft()).toEqual([]);
    });

    test('a broken manifest leaves no folder of the run', inTurn, async () => {
      const { code } = await node.runOnce({ kind: 'Pod' }, '--isolated');
      expect({ code, left: await runsLeft() }).toEqual({ code: 2, left: [] });
    });
  });

  test('--timeout gives up with 124, and says what it waited for', inTurn, async () => {
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', `echo begun; ${serve}`)] });
    expect(await node.runOnce(job, '--rm', '--timeout', '30s')).toEqual({
      code: 124,
      stdout: 'begun\n',
      stderr:
        'Stopping default/job-edge1 (up to 2 s)…\n' +
        'default/job-edge1: timed out: not done after 30s: container app still runs\n',
    });
  });

  test('all that a container wrote is shown, also when its pod is removed at once', inTurn, async () => {
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'seq 1 2000; printf end')] });
    const { code, stdout } = await node.runOnce(job, '--rm');
    const lines = stdout.split('\n');
    expect({ code, count: lines.length, last: lines.slice(-2) }).toEqual({
      code: 0,
      count: 2001,
      last: ['2000', 'end'],
    });
    expect(lines.findIndex((line, index) => line !== String(index + 1))).toBe(2000);
  });

  test('a command that cannot be run exits as a shell does, whatever the restart policy', inTurn, async () => {
    const containers = [{ name: 'app', image: 'localhost/busybox:1', command: ['nope'] }];
    const { code, stderr } = await node.runOnce(makePod('job', { restartPolicy: 'OnFailure', containers }), '--rm');
    expect({ code, stderr }).toEqual({
      code: 127,
      stderr: expect.stringContaining('default/job-edge1: failed: container app could not be started: ') as string,
    });
  });

  test('an image that no registry has exits with 125 at once, and prints each warning once', inTurn, async () => {
    const registry = await WebServer.start({ host: '127.0.0.1' });
    registry.answer = { status: 404 };
    const image = `${new URL(registry.url()).host}/nothing:1`;
    const job = makePod('job', { restartPolicy: 'OnFailure', containers: [{ name: 'app', image }] });
    const { code, stderr } = await node.runOnce(job, '--rm');
    expect({ code, told: stderr.match(/not found/g)?.length }).toEqual({ code: 125, told: 2 });
    expect(stderr).toMatch(/^default\/job-edge1: not started: ErrImagePull: .*not found$/m);
  });

  test('a signal ends the run with 130, a report, and nothing left by --rm', inTurn, async () => {
    const report = join(node.agent.rootDir, 'interrupted.xml');
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', `echo begun; ${serve}`)] });
    const run = node.agent.spawn(['run-once', '--rm', '--junit', report, '-'], { input: JSON.stringify(job) });
    await once(run.stdout, 'data');
    expect(await readFile(report, 'utf8')).toContain('the run was killed before it finished');
    run.kill('SIGTERM');
    const { exitCode, stderr } = await run;
    expect({ exitCode, stderr }).toEqual({
      exitCode: 130,
      stderr: 'Stopping default/job-edge1 (up to 2 s)…\ndefault/job-edge1: interrupted\n',
    });
    expect(await readFile(report, 'utf8')).toContain('<error message="interrupted" type="interrupted"');
    const connection = await node.agent.connect();
    expect((await connection.runtime.listPodSandbox({ filter: {} })).items).toEqual([]);
    connection.close();
  });

  test('a signal ends a run whose output is never read, and its pods', inTurn, async () => {
    const moreThanAPipeTakes = 'head -c 1000000 /dev/zero | tr "\\0" x; exec sleep 3600';
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', moreThanAPipeTakes)] });
    const run = node.agent.spawn(['run-once', '--rm', '-'], { input: JSON.stringify(job), buffer: false });
    await once(run.stdout, 'readable');
    run.kill('SIGTERM');
    expect(await once(run, 'exit')).toEqual([130, null]);
    run.stdout.destroy();
    const connection = await node.agent.connect();
    expect((await connection.runtime.listPodSandbox({ filter: {} })).items).toEqual([]);
    connection.close();
  });

  test('a second signal of another kind ends the run at once', inTurn, async () => {
    const stubborn = 'trap "" TERM; echo begun; while :; do sleep 3600 & wait; done';
    const job = makePod('job', {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 600,
      containers: [shell('app', stubborn)],
    });
    const run = node.agent.spawn(['run-once', '--rm', '-'], { input: JSON.stringify(job) });
    await once(run.stdout, 'data');
    run.kill('SIGINT');
    await once(run.stderr, 'data');
    run.kill('SIGTERM');
    const { signal, stderr } = await run;
    expect({ signal, stderr }).toEqual({ signal: 'SIGTERM', stderr: 'Stopping default/job-edge1 (up to 600 s)…\n' });
    // It would keep `down` waiting.
    process.kill((await node.agent.runningContainer('job')).pid, 'SIGKILL');
    expect((await node.agent.down()).stdout).toBe('pod default/job-edge1 removed\n');
  });
});
