import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

describe.each(containerdReleases().slice(-1))('exec on containerd $release', (containerd) => {
  let agent: Agent;

  beforeAll(async () => {
    agent = await startAgent({
      containerd,
      manifests: {
        'web.yaml': makePod('web', { containers: [shell('app', serve), shell('side', serve)] }),
        'job.yaml': makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'exit 0')] }),
      },
    });
    await agent.untilReady('web');
    await agent.untilPod('job', ({ worker }) => worker.state === 'finished');
  });
  afterAll(() => agent.cleanUp());

  const exec = (...words: string[]) => agent.cli(['exec', ...words]);
  const inApp = ['web', '-c', 'app'];

  test('the exit code of the command is that of exec', async () => {
    expect(await exec(...inApp, '--', 'sh', '-c', 'exit 7')).toEqual({ code: 7, stdout: '', stderr: '' });
    expect(await exec(...inApp, '--', 'true')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await exec(...inApp, '--', 'no-such-command')).toMatchObject({ code: 127, stdout: '' });
  });

  test('stdout and stderr stay apart', async () => {
    expect(await exec(...inApp, '--', 'sh', '-c', 'echo out; echo err >&2')).toEqual({
      code: 0,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  test('stdin is passed on to its end with -i, and only then', async () => {
    const count = ['--', 'wc', '-c'];
    const input = 'a line\nhalf a line';
    expect(await agent.cli(['exec', '-i', ...inApp, ...count], { input })).toEqual({
      code: 0,
      stdout: `${input.length}\n`,
      stderr: '',
    });
    expect(await agent.cli(['exec', ...inApp, ...count], { input })).toEqual({ code: 0, stdout: '0\n', stderr: '' });
  });

  test('5 MB of any bytes go in and come back as they are', async () => {
    const input = Buffer.concat([randomBytes(5_000_000), Buffer.from('\n')]);
    const { code, stdout, stderr } = await agent.cliBytes(['exec', '-i', ...inApp, '--', 'cat'], { input });
    expect({ code, stderr, isSame: stdout.equals(input) }).toEqual({ code: 0, stderr: '', isSame: true });
  });

  test('without -c it is the first container, which is said', async () => {
    expect(await exec('web', '--', 'echo', 'hi')).toEqual({
      code: 0,
      stdout: 'hi\n',
      stderr: 'Defaulted container "app" out of: app, side\n',
    });
  });

  test('reports what is impossible in one sentence, with what to do', async () => {
    const failures = [exec('wep', '--', 'true'), exec('web', '-c', 'nope', '--', 'true'), exec('job', '--', 'true')];
    const error = (message: string, hint: string): object => ({
      code: 1,
      stdout: '',
      stderr: `error: ${message}\nhint: ${hint}\n`,
    });
    expect(await Promise.all(failures)).toEqual([
      error('no pod "wep"', 'Did you mean default/web-edge1?'),
      error('container "nope" not found in pod default/web-edge1', 'Its containers are: app, side.'),
      error(
        'container "app" of pod default/job-edge1 is not running: Completed',
        'Show its output: kubelet-ts logs default/job-edge1 -c app',
      ),
    ]);
  });

  test('-it is a terminal: prompt, echo, Ctrl-C, size and exit code', async () => {
    const words = agent.commandLine(['exec', '-it', ...inApp, '--', 'sh']);
    const settings = 'stty -a | tr " " "\\n" | grep -x -e icanon -e echo';
    const terminal = await VirtualTerminal.open(`${words.join(' ')}; echo "code $?"; ${settings}`, {
      columns: 90,
      rows: 20,
    });
    onTestFinished(() => terminal.close());
    await terminal.until((screen) => /^\/ #$/m.test(screen));

    await terminal.type('stty size\r');
    await terminal.until((screen) => screen.includes('\n20 90\n'));
    await terminal.resize(70, 15);
    // The new size is on its way: ask until it has come.
    await terminal.type('until [ "$(stty size)" = "15 70" ]; do :; done; stty size\r');
    await terminal.until((screen) => screen.includes('\n15 70\n'));

    await terminal.type('echo run; sleep 3600; echo ended with $?\r');
    await terminal.until((screen) => screen.includes('\nrun\n'));
    await terminal.press('C-c');
    await terminal.until((screen) => screen.trimEnd().endsWith('run\n^C\n/ #'));

    await terminal.type('exit 9\r');
    // Raw while it ran, and as it was before afterwards.
    await terminal.until((screen) => screen.includes('\ncode 9\nicanon\necho\n'));
  });
});
