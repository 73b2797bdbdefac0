import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { program } from './program.ts';

/** A line of a stack, or of a bundle as Node prints it above one, or what Node says at the end. */
const stackFrame = /^\s+at .*[:(]|node:internal|^Node\.js v|\bthrow |Error: /m;

const nowhere = '/nonexistent/by/design';

/** Arguments for each command, so that it comes to its work. `FOLDER` is a folder with the manifest of a pod. */
const argumentsOf: Record<string, string[][]> = {
  run: [
    ['FOLDER', '--healthz-port', '0', '--no-tui'],
    [nowhere, '--healthz-port', '0', '--no-tui'],
    ['--config', nowhere],
  ],
  'run-once': [['FOLDER', '--timeout', '1s'], [nowhere], ['--config', nowhere, 'FOLDER'], ['-']],
  validate: [['FOLDER'], [nowhere], ['-'], ['--config', nowhere]],
  diff: [['FOLDER'], [nowhere], ['-'], ['--config', nowhere]],
  wait: [['web', '--timeout', '100ms']],
  ps: [[], ['-o', 'json']],
  top: [[], ['web', '--containers'], ['node']],
  ui: [[]],
  describe: [['web']],
  explain: [['web']],
  logs: [['web'], ['-f', 'web']],
  exec: [['web', '--', 'true']],
  attach: [['web']],
  debug: [['web', '--image', 'busybox']],
  cp: [
    ['FOLDER', 'web:/tmp'],
    ['web:/tmp', 'FOLDER/tmp'],
  ],
  'port-forward': [['web', '8080']],
  checkpoint: [['web', '-c', 'main']],
  events: [[], ['web']],
  apply: [
    ['-f', 'FOLDER'],
    ['-f', nowhere],
  ],
  delete: [['web'], ['-f', 'FOLDER']],
  restart: [['web']],
  stop: [['web']],
  start: [['web']],
  retry: [['web']],
  scale: [['deploy/web', '--replicas', '2']],
  rollout: [
    ['status', 'deploy/web'],
    ['undo', 'deploy/web'],
  ],
  hold: [['web']],
  unhold: [['web']],
  rollback: [['web']],
  history: [['web']],
  images: [
    ['load', nowhere],
    ['load', 'FOLDER'],
    ['load', 'FOLDER/pod.yaml'],
  ],
  'repair-store': [[]],
  down: [['--all'], []],
  doctor: [[], ['-o', 'json']],
  'support-bundle': [['-o', 'FOLDER/bundle.tar.gz']],
  // Without the folder /run/systemd of the machine, neither finds an init system.
  'install-service': [[], ['--dry-run', '--init', 'systemd']],
  'uninstall-service': [[]],
  upgrade: [[nowhere], ['FOLDER/pod.yaml', '--check']],
  'install-bundle': [[nowhere], ['FOLDER']],
  version: [[], ['--client']],
  licences: [[], ['--sbom']],
  completion: [['bash']],
};

/** All commands write their output alike. */
const writers = ['run', 'run-once', 'validate', 'ps', 'doctor', 'completion'];

/** Ways in which a machine refuses what commands need: how they are called, their root-dir, and which they are. */
const refusals: [string, { shell?: string; rootDir: string; commands?: readonly string[] }][] = [
  ['a root-dir on a read-only file system', { rootDir: 'FOLDER/read-only/root' }],
  ['an output that takes nothing', { shell: 'exec "$@" >/dev/full', rootDir: 'FOLDER/root', commands: writers }],
];

interface Outcome {
  output: string;
  exitCode: number | undefined;
}

/**
 * In a mount namespace of its own, where one folder is read-only. There is no runtime. What goes on for ever is ended.
 */
async function runCommand(folder: string, shell: string, args: readonly string[]): Promise<Outcome> {
  const mounts = `mount -t tmpfs -o ro tmpfs ${folder}/read-only && mount -t tmpfs tmpfs /run`;
  const { all, exitCode } = await execa('unshare', ['--mount', 'sh', '-c', `${mounts} && ${shell}`, 'sh', ...args], {
    all: true,
    reject: false,
    input: '',
    stripFinalNewline: false,
    env: { CONTAINER_RUNTIME_ENDPOINT: `unix://${folder}/none.sock` },
  });
  return { output: all, exitCode };
}

const hasRootDir = (command: string): boolean =>
  !['validate', 'licences', 'completion', 'install-service', 'uninstall-service'].includes(command);

/** The command lines by what came of them that should not have. */
async function wrongOutcomes(
  lines: readonly string[][],
  shell: string,
  rootDir: string,
): Promise<Record<string, string>> {
  const folder = await madeFolder();
  const limit = pLimit(4);
  const wrong: Record<string, string> = {};
  const tryOne = async ([command = '', ...rest]: string[]): Promise<void> => {
    const args = rest.map((word) => word.replace('FOLDER', `${folder}/manifests`));
    const ownArgs = ['--root-dir', rootDir.replace('FOLDER', folder), ...args];
    // Of `images load` and `rollout status` it is a flag of the second word.
    if (command === 'images' || command === 'rollout') ownArgs.unshift(...ownArgs.splice(2, 1));
    if (!hasRootDir(command)) ownArgs.splice(0, 2);
    // It waits for its runtime otherwise.
    const bound = command === 'run' ? ['timeout', '3'] : [];
    const { output, exitCode } = await runCommand(folder, shell, [...bound, program, command, ...ownArgs]);
    if (stackFrame.test(output) || exitCode === undefined) wrong[[command, ...rest].join(' ')] = output;
  };
  await Promise.all(lines.map((line) => limit(() => tryOne(line))));
  return wrong;
}

async function madeFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'read-only'));
  await mkdir(join(folder, 'manifests'));
  await writeFile(
    join(folder, 'manifests/pod.yaml'),
    'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: x}]}\n',
  );
  return folder;
}

test('every command is tried here', async () => {
  const { stdout } = await execa(program, ['--help']);
  const named = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name);
  expect(named.filter((name) => name !== 'help').sort()).toEqual(Object.keys(argumentsOf).sort());
});

test('no command shows a stack with 64 open files', async () => {
  const lines = Object.entries(argumentsOf).flatMap(([command, each]) => each.map((args) => [command, ...args]));
  expect(await wrongOutcomes(lines, 'ulimit -n 64; exec "$@"', 'FOLDER/root')).toEqual({});
});

test.each(refusals)('no command shows a stack with %s', async (_title, refusal) => {
  const { shell = 'exec "$@"', rootDir, commands = Object.keys(argumentsOf) } = refusal;
  const lines = commands.map((command) => [command, ...(argumentsOf[command]?.[0] ?? [])]);
  expect(await wrongOutcomes(lines, shell, rootDir)).toEqual({});
});

test('diff never says that there are changes when it could not look', async () => {
  const folder = await madeFolder();
  const shells = ['exec "$@"', 'ulimit -n 64; exec "$@"', 'ulimit -n 22; exec "$@"', 'exec "$@" >/dev/full'];
  const codes = shells.map(async (shell) => (await runCommand(folder, shell, [program, 'diff', nowhere])).exitCode);
  expect(await Promise.all(codes)).toEqual([2, 2, 2, 2]);
});

test('wait says what it waits for where the kernel watches no folder', async () => {
  const folder = await madeFolder();
  await mkdir(join(folder, 'root'));
  const none = 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"';
  const { all } = await execa(
    'unshare',
    [
      '--user',
      '--map-root-user',
      'sh',
      '-c',
      none,
      'sh',
      program,
      'wait',
      '--root-dir',
      `${folder}/root`,
      'web',
      '--timeout',
      '1s',
    ],
    { all: true, reject: false },
  );
  expect(all).toBe(
    `error: no kubelet-ts runs on ${folder}/root\nhint: Start it: kubelet-ts run MANIFEST. ` +
      'If it runs on another root-dir, give --root-dir or set KUBELET_TS_ROOT_DIR.',
  );
});
