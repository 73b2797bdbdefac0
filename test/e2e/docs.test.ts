import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { consoleCommands, missingFor } from '../docs/console-commands.ts';
import { deadlineMs } from './deadline.ts';
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
  expect(exitCode, all).toBe(0);
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
  expect(exitCode, all).toBe(0);
  expect(stdout).toContain('method: RunPodSandbox');
  expect(stdout).toMatch(/^\+ start {4}default\/job-\S+ \(no pod with this name runs\)$/m);
});

/** Order of the pages: each begins with the pod web that the one before leaves, and the last one removes everything. */
const consolePages = [
  ...[
    'start/coming-from',
    'start/to-a-cluster',
    'use/manifests',
    'use/operate',
    'use/look-inside',
    'use/images',
    'use/node',
  ],
  ...['use/workloads', 'use/security', 'use/sources', 'use/volumes', 'start/install'],
];

test('the commands of console blocks run as they stand on a node with a pod web', async () => {
  const commands = consolePages.flatMap((name) => consoleCommands.filter(({ page }) => page === `docs/${name}.md`));
  const runnable = commands.filter((each) => missingFor(each) === undefined);
  expect(runnable).toHaveLength(consoleCommands.filter((each) => missingFor(each) === undefined).length);
  const script = [
    'set -x',
    ...ownMachine,
    'export PATH="$PWD/bin:$PATH"',
    `cp ${join(imagesFolder, 'busybox.tar')} app.tar`,
    `kubelet-ts images load app.tar`,
    'for tag in 1 2; do kubelet-ts images tag localhost/busybox:1 localhost/app:$tag; done',
    `cat > web.yaml <<'END'\n${webManifest}END`,
    `cat > workload.yaml <<'END'\n${workload}END`,
    `cat > /var/lib/kubelet/config.yaml <<'END'\n${configuration}END`,
    `sed 's/name: web/name: shop/; s/app:1/nosuch:1/' web.yaml > pods/shop.yaml`,
    'cp web.yaml pods/',
    'agent=',
    // Also after a failure: the agent would keep the pipes of this shell open.
    `trap 'kubelet-ts down --all' EXIT`,
    ...runnable.flatMap(({ page, command }) => [
      ...(before[`${page.slice(5, -3)}: ${command}`] ?? []),
      command.startsWith('kubelet-ts run ') ? inBackground(command) : (instead[command] ?? command),
    ]),
  ];
  const { exitCode, all } = await bash(script.join('\n'), ['unshare', '--mount', '--net']);
  expect(exitCode, all).toBe(0);
  expect(all).toContain('"nodeName"');
});

/** A network of its own, and empty folders for all that the program writes. */
const ownMachine = [
  'mount --make-rprivate / && ip link set lo up',
  'for folder in /run /var/lib /var/log; do mount -t tmpfs tmpfs $folder; done',
  'mkdir pods site etc && mount -t tmpfs tmpfs etc && mkdir etc/upper etc/work',
  'mount -t overlay overlay -o "lowerdir=/etc,upperdir=$PWD/etc/upper,workdir=$PWD/etc/work" /etc',
  'mkdir -p /etc/kubernetes/manifests /var/lib/kubelet && mount --bind /etc/kubernetes/manifests pods',
];

/** Starts an agent instead of the one before. Resolves when its pod web runs. */
const inBackground = (command: string): string =>
  [
    '[ -z "$agent" ] || { kill $agent; wait $agent; }',
    `${command.replace(/ &$/, '')} --no-tui 2>>run.log &`,
    'agent=$!; kubelet-ts wait web',
  ].join('\n');

/** What has to happen before some commands, by page. */
const before: Readonly<Record<string, readonly string[]>> = {
  'start/coming-from: kubelet-ts validate pods/': [`sed 's/containers:/containerz:/' web.yaml > pods/broken.yaml`],
  'start/coming-from: kubelet-ts run --config /var/lib/kubelet/config.yaml': ['rm pods/broken.yaml'],
  'use/manifests: kubelet-ts apply -f web.yaml': ['rm pods/web.yaml', 'kubelet-ts wait web --for deleted'],
  'use/operate: kubelet-ts ps': ['kubelet-ts delete web', 'cp web.yaml pods/', 'kubelet-ts wait web'],
  'use/operate: kubelet-ts apply -f web.yaml': ['rm pods/web.yaml', 'kubelet-ts wait web --for deleted'],
  'use/operate: kubelet-ts delete deployment/web configmap/settings': ['kubelet-ts apply -f workload.yaml'],
  'use/operate: kubelet-ts describe web': ['cp web.yaml pods/', 'kubelet-ts wait web'],
  'use/look-inside: kubelet-ts logs -p web': ['kubelet-ts restart web'],
  'use/look-inside: kubelet-ts exec -i web -- tar x < files.tar': ['tar -cf files.tar web.yaml'],
  'use/workloads: kubelet-ts get deploy': [
    'rm pods/web.yaml',
    'kubelet-ts wait web --for deleted',
    'kubelet-ts apply -f workload.yaml',
    'kubelet-ts wait web',
  ],
  'use/workloads: kubelet-ts diff pods/': [
    'kubelet-ts delete deployment/web configmap/settings',
    'cp web.yaml pods/',
    'kubelet-ts wait web',
  ],
  'use/images: kubelet-ts images bundle -o app.tar pods/': ['rm pods/shop.yaml'],
};

/** Commands that report what they find with their exit code. */
const instead: Readonly<Record<string, string>> = {
  'kubelet-ts validate pods/': 'kubelet-ts validate pods/ || [ $? = 2 ]',
  'kubelet-ts diff pods/': 'kubelet-ts diff pods/ || [ $? = 1 ]',
  // It has one revision.
  'kubelet-ts rollout undo deploy/web': 'kubelet-ts rollout undo deploy/web || [ $? = 1 ]',
};

const webManifest = `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
  - {name: app, image: localhost/app:1, command: [sh, -c, 'mkdir -p /etc/nginx /srv/www; trap exit TERM; sleep 3600 & wait']}
`;

const workload = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      hostNetwork: true
      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: localhost/app:1, command: [sh, -c, 'trap exit TERM; sleep 3600 & wait']}]
`;

const configuration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: /etc/kubernetes/manifests
`;

/** The blocks of a document that are marked `sh`. */
function examplesOf(document: string): string[] {
  const text = readFileSync(join(repository, document), 'utf8');
  return [...text.matchAll(/^```sh[^\n]*\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

async function bash(
  script: string,
  within: readonly string[] = [],
): Promise<{ exitCode: number | undefined; all: string; stdout: string }> {
  await mkdir(temporary(), { recursive: true });
  const { PATH = '', HOME = '/root' } = process.env;
  // Job control, so that `kill %1` of the tour works; every line must succeed.
  const [file, ...args] = [...within, 'bash', '-e', '-m', '-c', script];
  const { exitCode, all, stdout } = await execa(file, args, {
    cwd: folder,
    env: { PATH, HOME, TMPDIR: temporary() },
    extendEnv: false,
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: deadlineMs,
  });
  return { exitCode, all, stdout };
}
