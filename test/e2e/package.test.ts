import { mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository } from './program.ts';

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
  expect((await execa(program, ['--version'])).stdout).toBe(`kubelet-ts ${version}, Kubernetes v1.32.10`);
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
  expect(ofKubeadm.exec((await execa(kubelet, ['--version'])).stdout)?.[1]).toMatch(/^1\.32\.\d+$/);
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

test('it tells malloc to give back what is freed, whatever its name, and says otherwise only when told', async () => {
  const bin = join(folder, 'prefix/bin');
  const told = 'process.env.MALLOC_MMAP_THRESHOLD_+process.argv.slice(2)';
  const tell = `data:text/javascript,process.stderr.write(${told});process.exit()`;
  const toldBy = async (program: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const words = ['--version', 'with a space', '', '$HOME'];
    return (await execa(program, words, { env: { ...env, NODE_OPTIONS: `--import=${tell}` } })).stderr;
  };
  const links = ['kubelet', 'kubelet-ts'].map((name) => join(bin, name));
  expect(await Promise.all([...links, join(folder, 'kubelet')].map((program) => toldBy(program)))).toEqual(
    new Array(3).fill('16384--version,with a space,,$HOME'),
  );
  expect(await toldBy(join(bin, 'kubelet-ts'), { MALLOC_MMAP_THRESHOLD_: '1048576' })).toMatch(/^1048576-/);
});

test('only commands that may use TLS read the root certificates of NODE_EXTRA_CA_CERTS', async () => {
  const tell = 'data:text/javascript,process.stderr.write(String(process.env.NODE_EXTRA_CA_CERTS));process.exit()';
  const env = { NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt', NODE_OPTIONS: `--import=${tell}` };
  const told = async (words: string): Promise<string> =>
    (await execa(join(folder, 'prefix/bin/kubelet-ts'), [...words.split(' '), 'web'], { env })).stderr;
  const local = ['ps', 'top', 'logs', 'wait', 'describe', 'events', 'history'];
  expect(await Promise.all(local.map(told))).toEqual(local.map(() => 'undefined'));
  const others = ['run', 'run-once', 'validate', 'exec', 'ui', 'top -i', 'top --interactive'];
  expect(await Promise.all(others.map(told))).toEqual(others.map(() => env.NODE_EXTRA_CA_CERTS));
});

/** Files of the unpacked package that a command line loads, with their text. */
async function loadedBy(...words: string[]): Promise<Map<string, string>> {
  const root = join(folder, 'package');
  await execa('tar', ['-xf', tarball, '-C', folder]);
  const coverage = await mkdtemp(join(folder, 'coverage-'));
  await execa(join(root, 'bin/kubelet-ts'), words, { env: { NODE_V8_COVERAGE: coverage }, reject: false });
  const [name = ''] = await readdir(coverage);
  const { result } = JSON.parse(await readFile(join(coverage, name), 'utf8')) as { result: { url: string }[] };
  const paths = result
    .map(({ url }) => url.split('/package/')[1] ?? url.replace(/^(agent|ps)\.js$/, 'dist/$1/$1.js'))
    .filter((path) => /^(bin|dist)\//.test(path));
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(root, path), 'utf8')] as const)),
  );
}

test('run is a program of its own, in one script', async () => {
  const loaded = await loadedBy('run', '--help');
  const script = ['bin/kubelet-ts', 'dist/agent/agent.js', 'dist/agent/main.cjs'];
  expect([...loaded.keys()].toSorted()).toEqual(script);
  // With its log, as far as the search for a runtime.
  const runtime = ['--container-runtime-endpoint', 'unix:///none.sock'];
  const failed = await loadedBy('run-once', '--root-dir', join(folder, 'root'), ...runtime, '/none.yaml');
  expect([...failed.keys()].toSorted()).toEqual(script);
});

test('commands start with the code of the build, and compile it themselves if it is missing or damaged', async () => {
  const { program, cacheOf } = await unpacked();
  // Reports whether a script has compiled code, and whether V8 rejects it.
  const report = `import vm from "node:vm";
    const { Script } = vm;
    vm.Script = class extends Script {
      constructor(text, options) {
        super(text, options);
        process.stderr.write([options.cachedData !== undefined, this.cachedDataRejected].join());
      }
    }`;
  const start = async (command: string): Promise<{ usage: string | undefined; cache: string }> => {
    const { stdout, stderr } = await execa(program, [command, '--help'], {
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(report)}` },
    });
    return { usage: /^Usage: kubelet-ts [a-z-]+/.exec(stdout)?.[0], cache: stderr };
  };
  for (const command of ['run', 'run-once', 'ps', 'top', 'ui'])
    expect(await start(command)).toEqual({ usage: `Usage: kubelet-ts ${command}`, cache: 'true,false' });
  await writeFile(await cacheOf('ps'), 'code of another V8');
  expect(await start('ps')).toEqual({ usage: 'Usage: kubelet-ts ps', cache: 'true,true' });
  await rm(await cacheOf('ps'));
  expect(await start('ps')).toEqual({ usage: 'Usage: kubelet-ts ps', cache: 'false,' });
});

async function unpacked(): Promise<{ program: string; cacheOf: (bundle: string) => Promise<string> }> {
  const root = join(await mkdtemp(join(folder, 'unpacked-')), 'package');
  await execa('tar', ['-xf', tarball, '-C', join(root, '..')]);
  const cacheOf = async (bundle: string): Promise<string> => {
    const names = await readdir(join(root, 'dist', bundle));
    return join(root, 'dist', bundle, names.find((name) => name.endsWith('.cache')) ?? '');
  };
  return { program: join(root, 'bin/kubelet-ts'), cacheOf };
}

test('parts that a command loads on use share its modules', async () => {
  const loaded = await loadedBy('ps', '--root-dir', join(folder, 'root'));
  const withText = (text: string): string[] =>
    [...loaded].filter(([, own]) => own.includes(text)).map(([path]) => path);
  expect(withText('name="UserError"')).toEqual(['dist/ps/ps.js']);
  expect(withText('grpc-node-js/').map((path) => path.replace(/-\w+\.js$/, ''))).toEqual([
    'dist/ps/chunks/runtime-connection',
  ]);
});
