import { chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { program } from './program.ts';

let agent: Agent;
/** The program where everybody may run it. */
let folder: string;

beforeAll(async () => {
  agent = await startAgent({ manifests: { 'web.yaml': makePod('web', { containers: [shell('app', serve)] }) } });
  folder = await mkdtemp('/tmp/kts-no-root-');
  await chmod(folder, 0o755);
  for (const part of ['bin', 'dist', 'package.json']) {
    await execa('cp', ['-r', join(program, '../..', part), folder]);
  }
  await execa('chmod', ['-R', 'a+rX', folder]);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await agent.cleanUp();
});

test.each([['ps'], ['exec', 'web', '--', 'true'], ['images', 'load', 'app.tar'], ['down']])(
  'a user without rights is told that root is needed, not what cannot be seen: %s %s',
  async (...words) => {
    const [, ...rest] = agent.commandLine(words);
    const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
    const result = await execa('setpriv', [...user, join(folder, 'bin/kubelet-ts'), ...rest], { reject: false });
    expect({
      code: result.exitCode,
      stdout: result.stdout,
      stderr: result.stderr.replaceAll(agent.rootDir, 'ROOT'),
    }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: root is needed: no permission to open ROOT\/\S+\nhint: Run it as root: sudo kubelet-ts …$/,
      ) as string,
    });
  },
);

test('doctor examines what a user sees, and names the rest', async () => {
  const [, ...rest] = agent.commandLine(['doctor', '-o', 'json']);
  const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
  const doctor = [...user, join(folder, 'bin/kubelet-ts'), ...rest];
  const { stdout, stderr } = await execa('setpriv', doctor, { reject: false });
  expect(stderr).toBe('');
  const { findings } = JSON.parse(stdout) as { findings: { check: string; level: string; evidence: string }[] };
  expect(findings.filter(({ check }) => check === 'rights')).toMatchObject([
    { level: 'warning', evidence: 'user 65534 is not root, so some checks are skipped' },
  ]);
  expect(findings.filter(({ check }) => check === 'agent')).toEqual([
    { check: 'agent', level: 'unseen', evidence: 'other agents: only root can see this' },
  ]);
  expect(findings).toContainEqual(expect.objectContaining({ check: 'kernel', level: 'ok' }));
});

test('validate needs no root and no runtime', async () => {
  const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
  const flags = ['--root-dir', join(folder, 'state'), '--container-runtime-endpoint', 'unix:///nowhere/cri.sock'];
  // No program of a runtime is to be found either, only what bin/kubelet-ts itself calls.
  const path = join(folder, 'path');
  await mkdir(path);
  await symlink(process.execPath, join(path, 'node'));
  await symlink('/usr/bin/readlink', join(path, 'readlink'));
  const { exitCode, stdout, stderr } = await execa(
    '/usr/bin/setpriv',
    [...user, join(folder, 'bin/kubelet-ts'), 'validate', ...flags, '-'],
    {
      reject: false,
      env: { PATH: path },
      extendEnv: false,
      input: JSON.stringify(makePod('web', { containers: [shell('app', serve)] })),
    },
  );
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: '1 pod: 0 errors, 0 warnings', stderr: '' });
});
