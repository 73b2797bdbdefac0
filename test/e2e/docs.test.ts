import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imagesFolder, program, repository } from './program.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp('/tmp/kts-docs-');
  await clone();
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** The repository as a user has it who cloned and built it. */
async function clone(): Promise<void> {
  const files = 'git ls-files -z --cached --others --exclude-standard';
  const copy = `${files} | tar --null --ignore-failed-read -cT - | tar -xC "$1"`;
  await execa('bash', ['-o', 'pipefail', '-c', copy, 'bash', folder], { cwd: repository });
  await symlink(join(dirname(program), '../dist'), join(folder, 'dist'));
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  for (const name of ['cri', 'containerd', 'api']) {
    await symlink(join(repository, 'src', name, 'generated'), join(folder, 'src', name, 'generated'));
  }
}

test('the quick start runs as it stands, in a clean shell and a clean clone, and leaves nothing behind', async () => {
  const before = await filesOf(folder);
  const { exitCode, all } = await bash(['set -u', ...examplesOf('docs/start/quickstart.md')].join('\n'));
  expect({ exitCode, all }).toEqual({ exitCode: 0, all: expect.stringContaining('default/job-') as string });
  expect(all).toMatch(/^5050\n.*completed$/m);
  expect(all).toContain('pod/web condition met');
  expect(all).toMatch(/default +web-\S+ +1\/1 +Running +0/);
  expect(all).toMatch(/Hello from web-/);
  expect(all).toContain('managed containerd stopped');
  expect(await filesOf(folder)).toEqual(before);
  // Its own folder for temporary files: what the tour made there is gone, too.
  expect(await readdir(temporary())).toEqual([]);
});

async function filesOf(path: string): Promise<string[]> {
  const { stdout } = await execa('find', [path, '-not', '-path', `${temporary()}*`]);
  return stdout.split('\n').toSorted();
}

const temporary = (): string => join(folder, 'tmp');

test('npm run demo builds the program, runs real pods, shows ps, logs and exec, and cleans up', async () => {
  await rm(join(folder, 'dist'));
  const { exitCode, stdout, all } = await bash('npm run --silent demo');
  expect({ exitCode, all }).toMatchObject({ exitCode: 0 });
  // READY, STATUS, RESTARTS, AGE, IP, NODE and HOST IP: on the host network the address is that of the node.
  const [, ip] = /^default +web-\S+ +1\/1 +Running +0 +\S+ +(\S+) +\S+ +\1 /m.exec(stdout) ?? [];
  expect({ isAddress: isIP(ip ?? '') > 0, all }).toEqual({ isAddress: true, all });
  expect(stdout).toMatch(/^5050$/m);
  expect(stdout).toMatch(/exec web -- sh -c .*\n\S+\n0$/m);
  const [root = ''] = /\/tmp\/kubelet-ts-demo\.\w+/.exec(stdout) ?? [];
  expect({ end: stdout.slice(-5), isLeft: existsSync(root) }).toEqual({ end: '\ndone', isLeft: false });
});

test('the examples of docs/start/ci.md run as they stand', async () => {
  const setup = [
    'export PATH="$PWD/bin:$PATH" KUBELET_TS_ROOT_DIR="$PWD/state"',
    `kubelet-ts images load ${join(imagesFolder, 'busybox.tar')}`,
  ];
  const { exitCode, all, stdout } = await bash(
    [...setup, ...examplesOf('docs/start/ci.md'), 'kubelet-ts down --all'].join('\n'),
  );
  expect(exitCode).toBe(0);
  expect(all).toMatch(/^default\/job-\S+: completed\n/m);
  expect(stdout).toMatch(/^5050\n/m);
});

test('the examples of docs/use/manifests.md run as they stand', async () => {
  const { exitCode, stdout, all } = await bash(
    ['export PATH="$PWD/bin:$PATH" KUBELET_TS_ROOT_DIR="$PWD/state"', ...examplesOf('docs/use/manifests.md')].join(
      '\n',
    ),
  );
  expect({ exitCode, all }).toMatchObject({ exitCode: 0 });
  expect(stdout).toContain('method: RunPodSandbox');
  expect(stdout).toMatch(/^\+ start {4}default\/job-\S+ \(no pod with this name runs\)$/m);
});

test('the commands of task pages run on a node with a pod web', async () => {
  const pages = ['operate', 'look-inside', 'images', 'node'].map((name) => `docs/use/${name}.md`);
  const commands = pages.flatMap(commandsOf).filter((command) => !cannotRun.test(command));
  expect(commands.length).toBeGreaterThan(20);
  const script = [
    'export PATH="$PWD/bin:$PATH" KUBELET_TS_ROOT_DIR="$PWD/state"',
    `mkdir pods site && cp ${join(imagesFolder, 'busybox.tar')} app.tar`,
    `kubelet-ts images load app.tar`,
    'for tag in 1 2; do kubelet-ts images tag localhost/busybox:1 localhost/app:$tag; done',
    `cat > web.yaml <<'END'\n${webManifest}END`,
    `sed 's/name: web/name: shop/; s/app:1/nosuch:1/' web.yaml > pods/shop.yaml`,
    'cp web.yaml pods/',
    'kubelet-ts run pods --pod-logs-dir "$PWD/logs" --no-tui --healthz-port 0 2>run.log &',
    // Also after a failure: the agent would keep the pipes of this shell open.
    `trap 'kubelet-ts down --all --pod-logs-dir "$PWD/logs"' EXIT`,
    'kubelet-ts wait web',
    ...commands.flatMap((command) => [...(before[command] ?? []), command]),
  ];
  const { exitCode, all } = await bash(script.join('\n'));
  expect({ exitCode, all }).toMatchObject({ exitCode: 0 });
});

/** Those that need a terminal, a network, CRIU or another agent, and those that follow for ever. */
const cannotRun =
  / -it? | ui$| -f -l | logs -f | -w | run |port-forward|checkpoint|doctor|images pull|busybox|trace|deployment/;

/** What has to happen before some commands. */
const before: Readonly<Record<string, readonly string[]>> = {
  'kubelet-ts wait web --for updated': [`sed -i 's/app:1/app:2/' pods/web.yaml`],
  'kubelet-ts apply -f web.yaml': ['rm pods/web.yaml', 'kubelet-ts wait web --for deleted'],
  'kubelet-ts describe web': ['cp web.yaml pods/', 'kubelet-ts wait web'],
  'kubelet-ts logs -p web': ['kubelet-ts restart web'],
  'kubelet-ts images bundle -o app.tar pods/': ['rm pods/shop.yaml'],
};

const webManifest = `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
  - {name: app, image: localhost/app:1, command: [sh, -c, 'mkdir -p /etc/nginx /srv/www; exec sleep 3600']}
`;

/** The lines of console blocks that begin with `kubelet-ts`, without comments. */
function commandsOf(document: string): string[] {
  const text = readFileSync(join(repository, document), 'utf8');
  const blocks = [...text.matchAll(/^```console\n(.*?)^```$/gms)].map(([, code = '']) => code);
  return blocks.flatMap((block) =>
    [...block.matchAll(/^# (kubelet-ts .*)$/gm)].map(([, line = '']) => line.replace(/ +# .*/, '')),
  );
}

/** The blocks of a document that are marked `sh`. */
function examplesOf(document: string): string[] {
  const text = readFileSync(join(repository, document), 'utf8');
  return [...text.matchAll(/^```sh[^\n]*\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

async function bash(script: string): Promise<{ exitCode: number | undefined; all: string; stdout: string }> {
  await mkdir(temporary(), { recursive: true });
  const { PATH = '', HOME = '/root' } = process.env;
  // Job control, so that `kill %1` of the tour works; every line must succeed.
  const { exitCode, all, stdout } = await execa('bash', ['-e', '-m', '-c', script], {
    cwd: folder,
    env: { PATH, HOME, TMPDIR: temporary() },
    extendEnv: false,
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: 290_000,
  });
  return { exitCode, all, stdout };
}
