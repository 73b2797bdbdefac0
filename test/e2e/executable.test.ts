import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { program, repository } from './program.ts';

let mounts: MountNamespace;
let agent: Agent;
// Beside the built program, whose folder is that of one state of the sources.
const executable = join(dirname(program), '../executable/kubelet-ts');

beforeAll(async () => {
  await makeExecutable();
  mounts = await MountNamespace.create();
  // As on a machine without Node.
  await mounts.run('mount', '--bind', '/dev/null', process.execPath);
  agent = await Agent.create({ program: executable, mountNamespace: mounts.path });
}, 120_000);
afterAll(async () => {
  await agent.cleanUp();
  await mounts.remove();
});

/** Makes it once for each state of the sources. */
async function makeExecutable(): Promise<void> {
  const isMade = await readFile(executable).then(
    () => true,
    () => false,
  );
  if (isMade) return;
  await call('executable.mjs', 'makeExecutable', executable);
}

/** Calls a function of the scripts that make packages. */
async function call(module: string, name: string, ...words: string[]): Promise<void> {
  const path = JSON.stringify(join(repository, 'scripts/package', module));
  const script = `(await import(${path})).${name}(...${JSON.stringify(words)})`;
  await execa('node', ['--input-type=module', '-e', script], { cwd: repository });
}

test('the executable runs where no Node is, and under the name of the kubelet', async () => {
  await expect(mounts.run('node', '--version')).rejects.toThrow();
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string };
  expect(await mounts.run(executable, '--version')).toBe(`kubelet-ts ${version}, Kubernetes v1.32.10`);
  const folder = await mkdtemp('/tmp/kts-name-');
  await execa('ln', ['-s', executable, join(folder, 'kubelet')]);
  expect(await mounts.run(join(folder, 'kubelet'), '--version')).toBe('Kubernetes v1.32.10');
  await rm(folder, { recursive: true });
  const web = join(repository, 'manifests/web.yaml');
  const { code, stderr } = await agent.cli(['validate', web]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
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
  expect((await agent.cli(['exec', 'web', '--', 'echo', 'hello'])).stdout).toBe('hello\n');
});

test('the Debian package holds program, unit, completions and pages', async () => {
  const folder = await mkdtemp('/tmp/kts-debian-');
  await call('debian.mjs', 'makeDebianPackage', executable, folder, 'none');
  const [name = ''] = await readdir(folder);
  const tree = join(folder, 'tree');
  await execa('dpkg-deb', ['-x', join(folder, name), tree]);
  const files = (await readdir(tree, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name).slice(tree.length));
  const pages = paths.filter((path) => path.startsWith('/usr/share/man/man8/kubelet-ts'));
  expect(pages.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !pages.includes(path)).sort()).toEqual([
    '/etc/default/kubelet-ts',
    '/lib/systemd/system/kubelet-ts.service',
    '/usr/bin/kubelet-ts',
    '/usr/share/bash-completion/completions/kubelet-ts',
    '/usr/share/doc/kubelet-ts/copyright',
    '/usr/share/fish/vendor_completions.d/kubelet-ts.fish',
    '/usr/share/zsh/vendor-completions/_kubelet-ts',
  ]);
  const unit = await readFile(join(tree, 'lib/systemd/system/kubelet-ts.service'), 'utf8');
  expect(unit).toContain('ExecStart=/usr/bin/kubelet-ts run --no-tui /etc/kubernetes/manifests ');
  await rm(folder, { recursive: true });
}, 60_000);
