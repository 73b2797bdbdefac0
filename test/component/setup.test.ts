import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const setup = new URL('../../scripts/setup', import.meta.url).pathname;

/**
 * A clone on a machine with only these programs, as root unless told otherwise. Its apt-get and npm only record
 * their arguments.
 */
async function bareMachine(packageManagers: readonly string[], userID = 0): Promise<{ folder: string; path: string }> {
  const folder = await temporaryFolder();
  const path = join(folder, 'path');
  await mkdir(join(folder, 'scripts'));
  await mkdir(path);
  await cp(setup, join(folder, 'scripts/setup'));
  await writeFile(join(folder, 'package-lock.json'), '{}');
  for (const program of ['bash', 'env', 'dirname', 'mktemp', 'cat', 'rm', 'touch', 'mkdir']) {
    const { stdout } = await execa('which', [program]);
    await symlink(stdout, join(path, program));
  }
  await symlink(process.execPath, join(path, 'node'));
  const note = (then: string): string => `#!/bin/sh\necho "\${0##*/} $*" >> '${folder}/calls'\n${then}\n`;
  const scripts = [
    ['id', `#!/bin/sh\necho ${userID}\n`],
    ['npm', note('mkdir node_modules')],
    ...packageManagers.map((name) => [name, note('')]),
  ];
  for (const [name = '', text = ''] of scripts) {
    await writeFile(join(path, name), text);
    await chmod(join(path, name), 0o755);
  }
  return { folder, path };
}

async function run({ folder, path }: { folder: string; path: string }, purpose = 'demo') {
  const options = { env: { PATH: path }, extendEnv: false, reject: false } as const;
  const { exitCode, stderr } = await execa(join(folder, 'scripts/setup'), [purpose], options);
  const calls = await readFile(join(folder, 'calls'), 'utf8').catch(() => '');
  return { exitCode, stderr, calls: calls.trimEnd().split('\n') };
}

test('Debian and Ubuntu install what is missing by themselves, and only once', async () => {
  const machine = await bareMachine(['apt-get']);
  const first = await run(machine);
  expect(first).toEqual({
    exitCode: 0,
    stderr: '',
    calls: [
      'apt-get update',
      expect.stringMatching(/^apt-get install -y --no-install-recommends containerd( [a-z0-9-]+)*$/),
      'npm ci --no-audit --no-fund --loglevel=error',
    ],
  });
  await writeFile(join(machine.path, 'containerd'), '#!/bin/sh\n', { mode: 0o755 });
  const again = await run(machine);
  expect(again.calls.slice(3).filter((call) => call.includes(' containerd ') || call.startsWith('npm'))).toEqual([]);
});

test.each([
  ['dnf', 'On Fedora and RHEL: dnf install containerd '],
  ['apk', 'On Alpine: apk add bash containerd '],
  ['zypper', 'On openSUSE: zypper install containerd '],
  ['pacman', 'Install them with the package manager of this system.'],
])('a system with %s is told what to install', async (packageManager, advice) => {
  const { exitCode, stderr, calls } = await run(await bareMachine([packageManager]));
  expect({ exitCode, calls }).toEqual({ exitCode: 1, calls: [''] });
  expect(stderr).toContain(`setup: ${advice}`);
});

test('for packages, only what builds them is installed, and nothing without root', async () => {
  const { exitCode, calls } = await run(await bareMachine(['apt-get']), 'package');
  expect({ exitCode, calls }).toEqual({
    exitCode: 0,
    calls: [
      'apt-get update',
      'apt-get install -y --no-install-recommends binutils dpkg',
      'npm ci --no-audit --no-fund --loglevel=error',
    ],
  });
  expect(await run(await bareMachine(['apt-get'], 1000), 'package')).toEqual({
    exitCode: 1,
    stderr: 'setup: missing: binutils dpkg (names of Debian packages)\nsetup: Install them as root.',
    calls: [''],
  });
});
