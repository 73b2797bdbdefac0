import { mkdtemp, readFile, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { cache, repository } from './program.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let folder: string;
let tarball: string;

beforeAll(async () => {
  folder = await mkdtemp('/tmp/kts-package-');
  await execa('npm', ['pack', '--pack-destination', folder], { cwd: repository });
  tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the package holds the program and the examples, and needs no other package', async () => {
  const { stdout } = await execa('tar', ['-tf', tarball]);
  const top = new Set(stdout.split('\n').map((path) => path.split('/')[1]));
  expect([...top]).toEqual(expect.arrayContaining(['bin', 'dist', 'manifests', 'package.json']));
  expect([...top]).not.toEqual(expect.arrayContaining(['src', 'test', 'node_modules']));
  const text = await readFile(join(repository, 'package.json'), 'utf8');
  expect(Object.keys(JSON.parse(text) as object)).not.toContain('dependencies');
});

test('it installs without a registry and runs', async () => {
  const prefix = join(folder, 'prefix');
  await execa('npm', ['install', '--offline', '--no-audit', '--no-fund', '--global', '--prefix', prefix, tarball]);
  const program = join(prefix, 'bin/kubelet-ts');
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string };
  expect((await execa(program, ['--version'])).stdout).toBe(`kubelet-ts ${version}, Kubernetes v1.36.3`);
  const { exitCode, stderr } = await execa(program, ['ps', '--root-dir', join(folder, 'root')], { reject: false });
  expect({ exitCode, isTold: stderr.includes('error: no container runtime answers') }).toEqual({
    exitCode: 1,
    isTold: true,
  });
  expect((await execa(program, ['help'])).stdout).toContain('Usage: kubelet-ts');
});

test('called as kubelet it is one: kubeadm finds the version, and no command is named', async () => {
  const kubelet = join(folder, 'prefix/bin/kubelet');
  // kubeadm: preflight/utils.go GetKubeletVersion
  const ofKubeadm = /^\s*Kubernetes v((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*))([-0-9a-zA-Z_.+]*)?\s*$/;
  expect(ofKubeadm.exec((await execa(kubelet, ['--version'])).stdout)?.[1]).toMatch(/^1\.36\.\d+$/);
  const link = join(folder, 'kubelet');
  await symlink(join(folder, 'prefix/bin/kubelet-ts'), link);
  const flags = ['--network-plugin=cni', '--container-runtime=remote', '--v=2'];
  const named = await execa(link, [...flags, '--config', '/nowhere/config.yaml'], { reject: false });
  expect({ exitCode: named.exitCode, stderr: named.stderr.split('\n')[0] }).toEqual({
    exitCode: 1,
    stderr: 'error: the configuration /nowhere/config.yaml cannot be read: no such file',
  });
  expect((await execa(link, ['ps', '--help'])).stdout).toContain('Usage: kubelet-ts ps');
});

test('its settings of memory reach Node, and the user may change that of malloc', async () => {
  const report = 'process.stderr.write(JSON.stringify([process.env.MALLOC_MMAP_THRESHOLD_,process.execArgv]))';
  const settings = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
    const options = { env: { ...env, NODE_OPTIONS: `--import=data:text/javascript,${report}` } };
    return JSON.parse((await execa(join(folder, 'prefix/bin/kubelet-ts'), ['--version'], options)).stderr);
  };
  const execArgv = [
    '--max-semi-space-size=1',
    '--max-old-space-size=1024',
    expect.stringMatching(/^--require=\/.*\/bin\/node-version\.cjs$/),
  ];
  expect(await settings({})).toEqual(['16384', execArgv]);
  expect(await settings({ MALLOC_MMAP_THRESHOLD_: '1048576' })).toEqual(['1048576', execArgv]);
});

test('a running agent needs no file of its package', async () => {
  const root = await mkdtemp(join(folder, 'replaced-'));
  await execa('tar', ['-xf', tarball, '-C', root]);
  const agent = await Agent.create();
  try {
    const [, ...words] = agent.commandLine(['run', agent.manifestsFolder, '--no-tui', '--log-format', 'json']);
    await agent.startBy([join(root, 'package/bin/kubelet-ts'), ...words]);
    await rm(root, { recursive: true });
    const probe = { httpGet: { port: 1 }, failureThreshold: 1000 };
    const containers = [
      shell('app', serve, {
        livenessProbe: { grpc: { port: 1 }, failureThreshold: 1000 },
        readinessProbe: { exec: { command: ['true'] } },
        lifecycle: { postStart: { exec: { command: ['true'] } } },
        volumeMounts: [{ name: 'settings', mountPath: '/settings' }],
      }),
      shell('probed', serve, { livenessProbe: probe }),
    ];
    const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: 'b' } };
    const web = makePod('web', { volumes: [{ name: 'settings', configMap: { name: 'settings' } }], containers });
    await agent.write('web.json', { apiVersion: 'v1', kind: 'List', items: [settings, web] });
    await agent.untilReady('web');
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'exit 3')] });
    expect((await agent.cli(['apply', '-f', '-'], { input: JSON.stringify(job) })).code).toBe(0);
    await agent.untilPod('job', ({ pod }) => pod.status?.phase === 'Failed');
    await agent.write('broken.yaml', 'kind: Pod\nspec: [');
    await agent.until(({ sources }) => sources.some(({ problems }) => problems.length > 0));
    const commands = [
      ['ps', '-o', 'wide'],
      ['explain', 'job'],
      ['describe', 'web'],
      ['events', 'web'],
      ['top', '--containers'],
      ['history', 'web'],
      ['exec', 'web', '--', 'true'],
      ['logs', 'job'],
      ['restart', 'web'],
      ['delete', 'pod', 'job'],
    ];
    const results = [];
    for (const command of commands) results.push([command, (await agent.cli(command)).code]);
    expect(results).toEqual(commands.map((command) => [command, 0]));
    expect(agent.logText()).not.toMatch(/Cannot find module|ERR_MODULE_NOT_FOUND/);
  } finally {
    await agent.cleanUp();
  }
});

test.each([
  ['run', 1],
  ['diff', 2],
])('on Node 18, %s names the release that it needs', async (command, code) => {
  const { stdout: bin } = await execa(join(repository, 'scripts/fetch-node'), ['18', cache]);
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  const { exitCode, stdout, stderr } = await execa(join(folder, 'prefix/bin/kubelet-ts'), [command], {
    env,
    reject: false,
  });
  expect({ exitCode, stdout, stderr: stderr.replace(/18\.\d+\.\d+$/m, '18.x') }).toEqual({
    exitCode: code,
    stdout: '',
    stderr:
      'error: kubelet-ts needs Node 20.19 or newer, this is 18.x\n' +
      'hint: Install a newer Node, or the Debian package of kubelet-ts, which brings its own.',
  });
});

test('the oldest Node that package.json allows is the one that bin/node-version.cjs accepts', async () => {
  const { engines } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const check = await readFile(join(repository, 'bin/node-version.cjs'), 'utf8');
  const [, major, minor] = /needed = \[(\d+), (\d+)\]/.exec(check) ?? [];
  expect(`>=${major}.${minor}`).toBe(engines.node);
});

test('without readlink it says so', async () => {
  const path = await mkdtemp(join(folder, 'path-'));
  await symlink(process.execPath, join(path, 'node'));
  const { exitCode, stderr } = await execa(join(folder, 'prefix/bin/kubelet-ts'), ['ps'], {
    env: { PATH: path },
    reject: false,
  });
  expect([exitCode, stderr]).toEqual([127, expect.stringContaining('readlink: not found')]);
});

describe.each(['22', '24', '26'])('on Node %s', (release) => {
  let agent: Agent;
  beforeAll(async () => {
    const { stdout: bin } = await execa(join(repository, 'scripts/fetch-node'), [release, cache]);
    agent = await Agent.create({ environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } });
    await agent.write('web.json', makePod('web', { containers: [shell('app', serve)] }));
  });
  afterAll(() => agent.cleanUp());

  test('run-once, run, ps and exec print what they print on Node 20', async () => {
    const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'echo done')] });
    const done = await agent.cli(['run-once', '--log-level', 'warn', '-'], { input: JSON.stringify(job) });
    expect(done).toEqual({ code: 0, stdout: 'done\n', stderr: 'default/job-edge1: completed\n' });
    await agent.start();
    await agent.untilReady('web');
    // The machine may have cgroup v1.
    expect(agent.logs.filter(({ level, reason }) => level >= 40 && reason !== 'CgroupV1')).toEqual([]);
    const listed = { code: 0, stdout: 'pod/web-edge1\n', stderr: '' };
    expect(await agent.cli(['ps', '-o', 'name'])).toEqual(listed);
    const greeting = await agent.cli(['exec', 'web', '--', 'echo', 'hello']);
    expect(greeting).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
  });

  test('the screen shows the pod', async () => {
    const command = agent.commandLine(['ui']).join(' ');
    const terminal = await VirtualTerminal.open(command, { columns: 100, rows: 24, env: agent.environment });
    try {
      const screen = await terminal.until((text) => /> default +web-edge1 +1\/1 +Running/.test(text));
      expect(screen).not.toMatch(/error|warning/i);
    } finally {
      await terminal.close();
    }
  });
});
