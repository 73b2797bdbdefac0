import { watch } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Journal } from '../fakes/journal.ts';
import { type Agent, type CommandResult, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;
let hasEnded: boolean;
const web = makePod('web', { containers: [shell('app', `echo hello; ${serve}`)] });

beforeEach(async () => {
  hasEnded = false;
  agent = await startAgent({ manifests: { 'web.yaml': web } });
  await agent.untilReady('web');
  process.kill(agent.pid, 'SIGSTOP');
});
afterEach(async () => {
  if (!hasEnded) process.kill(agent.pid, 'SIGCONT');
  await agent.cleanUp();
});

/** What a command says of the agent, which is the same for all, taken off what it says besides. */
const withoutWarning = ({ code, stdout, stderr }: CommandResult): CommandResult => {
  const warning =
    `warning: kubelet-ts (pid ${agent.pid}, stopped) does not answer; the data is from the container runtime\n` +
    `hint: Continue it: kill -CONT ${agent.pid}. Or end it: kill -KILL ${agent.pid}, pods keep running; kubelet-ts down ends its pods too.\n`;
  expect(stderr).toContain(warning);
  return { code, stdout, stderr: stderr.replace(warning, '') };
};

test('commands say that the agent is stopped, and continue without it', async () => {
  const [ps, table, logs, exec, describe, diff] = await Promise.all([
    agent.cli(['ps', '-o', 'name']),
    agent.cli(['ps', '--no-headers']),
    agent.cli(['logs', 'web']),
    agent.cli(['exec', 'web', '--', 'sh', '-c', 'exit 7']),
    agent.cli(['describe', 'web']),
    agent.cli(['diff', agent.manifestsFolder, '--hostname-override', 'edge1']),
  ]);
  expect(
    [ps, table, logs, exec, { ...describe, stdout: /^Name: .*$/m.exec(describe.stdout)?.[0] ?? '' }, diff].map(
      withoutWarning,
    ),
  ).toEqual([
    { code: 0, stdout: 'pod/web-edge1\n', stderr: '' },
    { code: 0, stdout: expect.stringMatching(/^default +web-edge1 +1\/1 +Running +0 +\S+\n$/) as string, stderr: '' },
    { code: 0, stdout: 'hello\n', stderr: '' },
    { code: 7, stdout: '', stderr: '' },
    { code: 0, stdout: expect.stringMatching(/web-edge1/) as string, stderr: '' },
    { code: 0, stdout: expect.stringMatching(/stay/) as string, stderr: '' },
  ]);
});

test('a second agent is refused with the pid and the state of the first, and ends at once on SIGTERM before that', async () => {
  const names = new Journal<string>();
  const watcher = watch(agent.rootDir, (_event, name) => {
    names.add(name ?? '');
  });
  const second = agent.spawn(['run', agent.manifestsFolder, '--no-tui']);
  await names.next((name) => name === `sock.${second.pid ?? 0}`);
  watcher.close();
  second.kill('SIGTERM');
  const { exitCode, stdout, stderr } = await second;
  expect({ code: exitCode, stdout, errors: errorsIn(stderr) }).toEqual({ code: 0, stdout: '', errors: [] });

  const third = await agent.cli(['run', agent.manifestsFolder, '--no-tui']);
  expect({ code: third.code, stdout: third.stdout, errors: errorsIn(third.stderr) }).toEqual({
    code: 1,
    stdout: '',
    errors: [`error: kubelet-ts already runs on this root-dir: kubelet-ts (pid ${agent.pid}, stopped) does not answer`],
  });
});

const errorsIn = (stderr: string): string[] => stderr.split('\n').filter((line) => line.startsWith('error'));

test('down says that it ends the agent by a signal, and takes the pods down', async () => {
  const { pid } = agent;
  hasEnded = true;
  expect(await agent.down()).toEqual({
    code: 0,
    stdout: 'kubelet-ts stopped\npod default/web-edge1 removed\n',
    stderr: `warning: kubelet-ts (pid ${pid}, stopped) does not answer; stopping it with a signal\n`,
  });
});
