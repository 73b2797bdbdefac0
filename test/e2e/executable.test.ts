import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { BareDebian } from './bare-debian.ts';
import { buildExecutable, callPackaging, executable } from './built-executable.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { program, repository } from './program.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let mounts: MountNamespace;
let agent: Agent;
let layer: string;
let folder: string;
let debianPackage: string;

beforeAll(async () => {
  await buildExecutable();
  folder = await mkdtemp('/tmp/kts-debian-');
  await callPackaging('debian.mjs', 'makeDebianPackage', executable, folder, 'none');
  const [name = ''] = await readdir(folder);
  debianPackage = join(folder, name);
  layer = await mkdtemp('/tmp/kts-layer-');
  mounts = await MountNamespace.overRoot(layer);
  // As on a machine without Node, except in a folder that no PATH names.
  await mounts.run(
    'sh',
    '-ec',
    'mkdir /run/node; touch /run/node/node; mount --bind "$0" /run/node/node',
    process.execPath,
  );
  await mounts.run('mount', '--bind', '/dev/null', process.execPath);
  agent = await Agent.create({ program: executable, mountNamespace: mounts.path });
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await agent.cleanUp();
  await mounts.remove();
  await rm(layer, { recursive: true });
});

test('the executable runs where no Node is, and under the name of the kubelet', async () => {
  await expect(mounts.run('node', '--version')).rejects.toThrow();
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string };
  expect(await mounts.run(executable, '--version')).toBe(`kubelet-ts ${version}, Kubernetes v1.36.3`);
  const folder = await mkdtemp('/tmp/kts-name-');
  await execa('ln', ['-s', executable, join(folder, 'kubelet')]);
  expect(await mounts.run(join(folder, 'kubelet'), '--version')).toBe('Kubernetes v1.36.3');
  await rm(folder, { recursive: true });
  const web = join(repository, 'manifests/web.yaml');
  const { code, stderr } = await agent.cli(['validate', web]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

// Node has an option of this name, which would read its own options from the file.
test('--env-file is an option of the program, not of Node', async () => {
  const job = makePod('env', { restartPolicy: 'Never', containers: [shell('app', 'echo "$NODE_OPTIONS $COLOUR"')] });
  const file = join(agent.rootDir, 'job.env');
  await writeFile(file, 'NODE_OPTIONS=--no-such-option\nCOLOUR=blue\n');
  const input = JSON.stringify(job);
  expect(await agent.cli(['run-once', '--env-file', file, '-'], { input })).toEqual({
    code: 0,
    stdout: '--no-such-option blue\n',
    stderr: expect.any(String) as string,
  });
  for (const words of [['--env-file', '/none.env'], ['--env-file=/none.env']]) {
    const { code, stderr } = await agent.cli(['run-once', ...words, '-'], { input });
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: --env-file: /none.env: no such file\n' });
  }
});

test('NODE_OPTIONS have no effect on the executable', async () => {
  const { exitCode, stderr } = await execa(executable, ['--version'], { env: { NODE_OPTIONS: '--no-such-option' } });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});

test('the executable prints the licences of its parts, and a bill of materials', async () => {
  const { stdout: licences } = await execa(executable, ['licences']);
  const own = await readFile(join(repository, 'LICENSE'), 'utf8');
  expect(licences.slice(0, own.length)).toBe(own);
  expect(licences.slice(own.length)).toMatch(/^\n-{80}\n[^]*Node\.js is licensed for use as follows[^]*\ncommander \d/);
  const { stdout: bill } = await execa(executable, ['licences', '--sbom']);
  expect(JSON.parse(bill)).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: 'kubelet-ts' } },
    components: expect.arrayContaining([
      expect.objectContaining({ type: 'application', name: 'node' }),
      expect.objectContaining({ type: 'library', name: 'commander' }),
    ]) as unknown,
  });
});

test('the executable runs a pod once, and an agent with a pod', async () => {
  const script = 'echo done';
  const job = makePod('job', { restartPolicy: 'Never', containers: [shell('app', script)] });
  const { code, stdout } = await agent.cli(['run-once', '-'], { input: JSON.stringify(job) });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' });
  await agent.write('web.json', makePod('web', { containers: [shell('app', serve)] }));
  await agent.start();
  await agent.untilReady('web');
  expect((await agent.cli(['ps', '-o', 'name'])).stdout).toBe('pod/web-edge1\n');
  const [command = '', ...ps] = agent.commandLine(['ps']);
  const { exitCode, stderr } = await execa(command, ps, { stdout: 'ignore' });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const said = await agent.cli(['exec', 'web', '--', 'echo', 'hello']);
  expect(said).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
});

test('the executable, called by its name alone, knows its file', async () => {
  const { stdout } = await execa(basename(executable), ['doctor'], {
    cwd: '/',
    env: { PATH: `${dirname(executable)}:${process.env['PATH'] ?? ''}` },
    reject: false,
  });
  expect(stdout).toMatch(/^✓ clock {10}\d{4}-/m);
});

test('the executable and the program of npm take turns over a pod that runs on', async () => {
  const web = await agent.runningContainer('web');
  const [command, ...words] = agent.commandLine(['run', agent.manifestsFolder, '--no-tui', '--log-format', 'json']);
  const onNode = ['env', `PATH=/run/node:${process.env['PATH'] ?? ''}`, program];
  const withNode = words.flatMap((word) => (word === executable ? onNode : [word]));
  for (const line of [withNode, words]) {
    await agent.stop();
    await agent.startBy([command ?? '', ...line]);
    const { pod } = await agent.untilReady('web');
    expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect(await agent.runningContainer('web')).toEqual(web);
  }
});

test('the screen of the executable runs its commands', async () => {
  const command = agent.commandLine(['ui']).join(' ');
  const terminal = await VirtualTerminal.open(command, { columns: 100, rows: 24, env: agent.environment });
  try {
    await terminal.until((screen) => /> default +web-edge1 +1\/1 +Running/.test(screen));
    await terminal.type('R');
    await terminal.until((screen) => /\$ kubelet-ts restart .*web/.test(screen));
    await terminal.type('y');
    await terminal.until((screen) => /restart .*web-edge1 {2}done/.test(screen));
  } finally {
    await terminal.close();
  }
});

/** Installs and removes the service. The systemctl of the machine enables it; what needs a running systemd is noted. */
async function installsService(installed: string): Promise<void> {
  const systemctl = `#!/bin/sh
echo "$*" >> /run/calls
case $1 in enable) exec /usr/bin/systemctl --root=/ "$@" ;; disable) exec /usr/bin/systemctl --root=/ disable "$3" ;; esac
`;
  await mounts.run('sh', '-ec', 'mkdir -p /run/systemd/system; printf %s "$0" > /usr/local/bin/systemctl', systemctl);
  await mounts.run('chmod', '+x', '/usr/local/bin/systemctl');
  const unit = '/etc/systemd/system/kubelet-ts.service';
  const wanted = '/etc/systemd/system/multi-user.target.wants/kubelet-ts.service';
  expect(await mounts.run(installed, 'install-service', '--', '/srv/my pods')).toBe(
    `wrote ${unit}\nstart it now: systemctl start kubelet-ts`,
  );
  expect(await mounts.run('readlink', wanted)).toBe(unit);
  expect(await mounts.run('cat', unit)).toContain(`ExecStart=${installed} run --no-tui "/srv/my pods" `);
  expect(await mounts.run(installed, 'uninstall-service')).toBe(
    `removed ${unit}. Pods keep running; stop them: kubelet-ts down`,
  );
  await expect(mounts.run('ls', wanted)).rejects.toThrow();
  const again = mounts.run(installed, 'uninstall-service');
  await expect(again).rejects.toThrow('/usr/lib/systemd/system/kubelet-ts.service belongs to a package, so');
  const kubelet = '/etc/systemd/system/kubelet.service';
  await mounts.run('sh', '-c', 'echo "[Unit]" > "$0"', kubelet);
  for (const command of ['install-service', 'uninstall-service']) {
    const refused = mounts.run(installed, command, '--name', 'kubelet');
    await expect(refused).rejects.toThrow(`error: ${kubelet} was not written by kubelet-ts`);
  }
  await mounts.run('rm', kubelet);
  const calls = ['daemon-reload', 'enable kubelet-ts.service', 'disable --now kubelet-ts.service', 'daemon-reload'];
  expect((await mounts.run('cat', '/run/calls')).split('\n')).toEqual(calls);
  await mounts.run('rm', '-r', '/run/systemd', '/usr/local/bin/systemctl');
}

test('the service of the Debian package is installed and removed, and only data is left', async () => {
  const tree = join(folder, 'tree');
  await execa('dpkg-deb', ['-x', debianPackage, tree]);
  const files = (await readdir(tree, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name).slice(tree.length));
  const pages = paths.filter((path) => path.startsWith('/usr/share/man/man8/kubelet-ts'));
  expect(pages).toContain('/usr/share/man/man8/kubelet-ts-images-bundle.8.gz');
  expect(pages.length).toBeGreaterThan(30);
  expect(paths.filter((path) => !pages.includes(path)).sort()).toEqual([
    '/etc/default/kubelet-ts',
    '/usr/bin/kubelet-ts',
    '/usr/bin/kubelet-ts.guard',
    '/usr/lib/systemd/system/kubelet-ts.service',
    '/usr/share/bash-completion/completions/kubelet-ts',
    '/usr/share/doc/kubelet-ts/copyright',
    '/usr/share/doc/kubelet-ts/sbom.json',
    '/usr/share/fish/vendor_completions.d/kubelet-ts.fish',
    '/usr/share/zsh/vendor-completions/_kubelet-ts',
  ]);
  const { stdout: recommended } = await execa('dpkg-deb', ['-f', debianPackage, 'Recommends']);
  expect(recommended).toBe('containerd, runc, containernetworking-plugins, iptables, iproute2');
  await mounts.run('dpkg', '-i', debianPackage);
  await installsService('/usr/bin/kubelet-ts');
  await mounts.run('mkdir', '-p', '/var/lib/kubelet-ts/pods');
  expect(await mounts.run('dpkg', '-P', 'kubelet-ts')).toContain('/var/lib/kubelet-ts stays, with the data of pods');
  // The layer holds each path that differs from the machine's, except those of dpkg and its triggers.
  const changed = (await mounts.run('find', join(layer, 'upper'), '-iname', '*kubelet*')).split('\n');
  expect(changed).toEqual([join(layer, 'upper/var/lib/kubelet-ts')]);
  const unit = await readFile(join(tree, 'usr/lib/systemd/system/kubelet-ts.service'), 'utf8');
  expect(unit).toContain('ExecStart=/usr/bin/kubelet-ts run --no-tui /etc/kubernetes/manifests ');
});

describe('on a bare Debian', () => {
  const install = ['apt-get', 'install', '--yes'] as const;
  let debian: BareDebian;
  let before: string[];

  beforeAll(async () => {
    debian = await BareDebian.create();
    const recommended = ['containerd', 'runc', 'containernetworking-plugins', 'iptables', 'iproute2'];
    await debian.run(...install, '--no-install-recommends', ...recommended);
    before = await debian.paths();
    await execa('cp', [debianPackage, executable, debian.shared]);
    // The first one downloads a Debian beside other tests.
  }, 900_000);
  afterAll(() => debian.remove());

  const changedPaths = async (): Promise<{ gone: string[]; left: string[] }> => {
    const after = await debian.paths();
    return {
      gone: before.filter((path) => !after.includes(path)),
      left: after.filter((path) => !before.includes(path)),
    };
  };
  const onlyData = { gone: [], left: ['/run/containerd', '/run/kubelet-ts', '/var/lib/cni', '/var/lib/cni/results'] };

  test('the package runs pods, and its removal leaves only data', async () => {
    await expect(debian.run('node', '--version')).rejects.toThrow('failed to execute node');
    // Without a network apt fails if it wants another package.
    await debian.run(...install, join(debian.shared, basename(debianPackage)));
    await debian.runsPods('/usr/bin/kubelet-ts');
    // An upgrade keeps the old program for the guard.
    await debian.run('dpkg', '-i', join(debian.shared, basename(debianPackage)));
    expect((await debian.run('sh', '-c', 'ls /usr/bin/kubelet-ts*')).split('\n')).toEqual(
      ['', '.guard', '.pending-3', '.previous'].map((suffix) => `/usr/bin/kubelet-ts${suffix}`),
    );
    expect(await debian.run('cat', '/usr/bin/kubelet-ts.pending-3')).toMatch(/^(\d\S*) \1$/);
    // Another upgrade keeps the last program that was healthy.
    const kept = await debian.run('stat', '-c', '%i', '/usr/bin/kubelet-ts.previous');
    await debian.run('dpkg', '-i', join(debian.shared, basename(debianPackage)));
    expect(await debian.run('stat', '-c', '%i', '/usr/bin/kubelet-ts.previous')).toBe(kept);
    await debian.run('apt-get', 'purge', '--yes', 'kubelet-ts');
    expect(await changedPaths()).toEqual(onlyData);
  });

  test('the executable alone runs pods, and leaves only data', async () => {
    await debian.run('install', join(debian.shared, 'kubelet-ts'), '/usr/local/bin/kubelet-ts');
    await debian.runsPods('/usr/local/bin/kubelet-ts');
    await debian.run('rm', '/usr/local/bin/kubelet-ts');
    expect(await changedPaths()).toEqual(onlyData);
  });

  test('an OpenRC service runs pods', async () => {
    await debian.run(...install, '--no-install-recommends', 'openrc');
    await debian.run('install', join(debian.shared, 'kubelet-ts'), '/usr/local/bin/kubelet-ts');
    await debian.runsOpenRCService('/usr/local/bin/kubelet-ts');
  });
});
