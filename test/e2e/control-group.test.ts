import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { groupSocketPath } from '../../src/server/control/socket-paths.ts';
import { Agent } from './agent.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';
import { program } from './program.ts';

/** A group that this machine does not name. */
const gid = 64_321;
const member = ['--reuid=65534', `--regid=${gid}`, '--clear-groups'];
const stranger = ['--reuid=65534', '--regid=65534', '--clear-groups'];

let agent: Agent;
/** The program where everybody may run it. */
let folder: string;

beforeAll(async () => {
  agent = await Agent.create({
    manifests: { 'web.yaml': makePod('web', { containers: [shell('app', serve)] }) },
    flags: ['--control-group', String(gid)],
  });
  folder = await mkdtemp('/tmp/kts-group-');
  await chmod(folder, 0o755);
  for (const part of ['bin', 'dist', 'package.json']) {
    await execa('cp', ['-r', join(program, '../..', part), folder]);
  }
  await execa('chmod', ['-R', 'a+rX', folder]);
  await agent.start();
  await agent.untilReady('web');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await agent.cleanUp();
  await rm(dirname(groupSocketPath(agent.rootDir)), { recursive: true, force: true });
});

interface Said {
  code: number | undefined;
  stdout: string;
  stderr: string;
}

/** Runs a command as another user. */
async function as(user: readonly string[], words: readonly string[], input?: object): Promise<Said> {
  const [, ...rest] = agent.commandLine(words);
  const { exitCode, stdout, stderr } = await execa('setpriv', [...user, join(folder, 'bin/kubelet-ts'), ...rest], {
    reject: false,
    ...(input && { input: JSON.stringify(input) }),
  });
  return { code: exitCode, stdout, stderr: stderr.replaceAll(agent.rootDir, 'ROOT') };
}

const done = (stdout: string): Said => ({ code: 0, stdout, stderr: '' });

test('a member of the group sees pods and acts on them, and the log names the group', async () => {
  const applied = makePod('extra', { containers: [shell('app', serve)] });
  expect(await as(member, ['ps', '-o', 'name'])).toEqual(done('pod/web-edge1'));
  expect(await as(member, ['apply', '-f', '-'], applied)).toEqual(done('pod/extra created'));
  expect(await as(member, ['wait', 'extra', '--timeout', '5m'])).toMatchObject({ code: 0, stderr: '' });
  const debug = ['debug', '--image', busybox, 'extra', '--', 'sh', '-c', 'exit 0'];
  expect(await as(member, debug)).toMatchObject({ code: 0, stderr: '' });
  expect(await as(member, ['rollback', 'extra'])).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^error: .*revision/) as string,
  });
  expect(await as(member, ['delete', 'extra'])).toEqual(done('pod "extra" deleted'));
  // Its past is in files of root.
  for (const words of [
    ['describe', 'extra'],
    ['events', 'extra'],
  ]) {
    expect(await as(member, words)).toMatchObject({ code: 1, stdout: '' });
  }
  for (const action of ['hold', 'unhold', 'restart', 'stop', 'start', 'retry']) {
    expect(await as(member, [action, 'web'])).toMatchObject({ code: 0, stderr: '' });
  }
  for (const words of [['history', 'web'], ['describe', 'web'], ['explain', 'web'], ['events', 'web'], ['top']]) {
    expect(await as(member, words)).toMatchObject({ code: 0, stderr: '' });
  }
  const entry = await agent.waitForLog((found) => found['path'] === '/v1/pods/default/web-edge1/restart');
  expect(entry).toMatchObject({
    msg: 'Control request',
    group: String(gid),
    userAgent: expect.stringMatching(/^pid \d+ uid 65534$/) as string,
    status: 200,
  });
});

test.each([[['logs', 'web']], [['exec', 'web', '--', 'true']], [['images', 'list']], [['down']]])(
  'a member needs root for %s',
  async (words) => {
    expect(await as(member, words)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: root is needed: no permission to open ROOT\/\S+\nhint: Run it as root: sudo kubelet-ts …$/,
      ) as string,
    });
    expect(await as(member, ['ps', '-o', 'name'])).toEqual(done('pod/web-edge1'));
  },
);

test.each([[['ps']], [['stop', 'web']]])('a user outside the group needs root for %s', async (words) => {
  expect(await as(stranger, words)).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^error: root is needed: no permission to open ROOT\/\S+\nhint: /) as string,
  });
});

test('nothing else becomes readable', async () => {
  for (const path of [agent.rootDir, join(agent.rootDir, 'kubelet-ts.sock'), join(agent.rootDir, 'state')]) {
    const { exitCode } = await execa('setpriv', [...member, 'ls', path], { reject: false });
    expect(exitCode).not.toBe(0);
  }
  const { stdout } = await execa('setpriv', [...member, 'ls', dirname(groupSocketPath(agent.rootDir))]);
  expect(stdout).toBe('kubelet-ts.sock\nkubelet-ts.sock.holder');
});

test('while no agent runs, a member needs root too', async () => {
  await agent.stop();
  expect(await as(member, ['ps'])).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^error: root is needed: no permission to open ROOT\/\S+\nhint: /) as string,
  });
});

test('a group that does not exist ends the start with a sentence', async () => {
  const other = await Agent.create({ flags: ['--control-group', 'no-such-group'] });
  onTestFinished(() => other.cleanUp());
  const { code, stderr } = await other.cli(['run', other.manifestsFolder, '--no-tui', '--control-group=no-such-group']);
  const errors = stderr.split('\n').filter((line) => !line.includes('INFO: Starting kubelet-ts'));
  expect({ code, stderr: errors.join('\n') }).toEqual({
    code: 1,
    stderr:
      'error: controlGroup: /etc/group has no group "no-such-group"\n' +
      'hint: Create it with groupadd. For a group from elsewhere, such as LDAP, give its number.\n',
  });
});
