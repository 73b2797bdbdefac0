import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register, registerUninstall } from '../../../src/commands/install-service.ts';
import type { CommandDeps } from '../../../src/commands/io/deps.ts';
import { requireExecutable } from '../../../src/commands/service/require-executable.ts';
import { refusePackaged } from '../../../src/commands/service/refuse-packaged.ts';
import { openRCScript } from '../../../src/commands/service/openrc-script.ts';
import { systemdUnit } from '../../../src/commands/service/systemd-unit.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Runs the command, and resolves with its output. */
async function install(...words: string[]): Promise<string> {
  const program = new Command();
  const texts: string[] = [];
  const stdout = { write: (text: string) => texts.push(text) };
  register(program, { stdout } as unknown as CommandDeps);
  await program.parseAsync(['install-service', '--dry-run', '--program', '/usr/bin/kubelet-ts', ...words], {
    from: 'user',
  });
  return texts.join('');
}

test.each([
  ['systemd', systemdUnit],
  ['openrc', openRCScript],
])('a dry run for %s prints its file, by default for the manifests of kubeadm', async (init, fileOf) => {
  expect(await install('--init', init)).toBe(
    fileOf({ program: '/usr/bin/kubelet-ts' }, ['/etc/kubernetes/manifests'], 'kubelet-ts'),
  );
  const words = ['/srv/pods', '--max-pods', '20'];
  expect(await install('--init', init, '--name', 'fleet', '--', ...words)).toBe(
    fileOf({ program: '/usr/bin/kubelet-ts' }, words, 'fleet'),
  );
});

const installed = resolve('kubelet-ts');

test.each([
  ['a folder of manifests', ['pods']],
  ['the value of a flag', ['/srv/pods', '--config', 'kubelet.yaml']],
  ['a joined value', ['/srv/pods', '--root-dir=state']],
  ['one of several values', ['--pod-manifest-path', '/srv/pods', '--pod_manifest_path', 'more']],
  ['what follows a flag without a value', ['--seccomp-default', 'pods']],
])('a service with a relative path runs in the folder of the installation: %s', async (_what, words) => {
  const flags = ['--program', 'kubelet-ts', '--', ...words];
  const systemd = systemdUnit({ program: installed }, words, 'kubelet-ts', process.cwd());
  expect(await install('--init', 'systemd', ...flags)).toBe(systemd);
  expect(await install('--init', 'openrc', ...flags)).toBe(
    openRCScript({ program: installed }, words, 'kubelet-ts', process.cwd()),
  );
});

test.each([
  ['a number', ['/srv/pods', '--max-pods', '20']],
  ['a name', ['/srv/pods', '--hostname-override=edge1', '--node-labels', 'a=b']],
  ['absolute paths', ['/srv/pods', '--config', '/etc/kubelet.yaml', '--root-dir=/srv/state']],
])('a service without a relative path has no working directory: %s', async (_what, words) => {
  expect(await install('--init', 'systemd', '--', ...words)).toBe(
    systemdUnit({ program: '/usr/bin/kubelet-ts' }, words, 'kubelet-ts'),
  );
});

test.each([
  [['--max-pod', '20'], 'unknown flag: --max-pod', 'Did you mean --max-pods?'],
  [
    ['--max-pods', 'x'],
    "option '--max-pods <n>' argument 'x' is invalid. It must be a whole number from -2147483648 to 2147483647.",
    'kubelet-ts run --help shows the flags.',
  ],
  [
    ['/srv/pods', '--max-pods', '-5'],
    expect.stringContaining('the configuration is invalid\n--max-pods: error: ') as string,
    undefined,
  ],
  [
    ['/srv/pods', '--hostname-override', 'a b'],
    expect.stringContaining('"a b"') as string,
    expect.any(String) as string,
  ],
  [['/srv/pods', '--config'], "option '--config <path>' argument missing", 'kubelet-ts run --help shows the flags.'],
  [
    ['https://box.example/pods.yaml'],
    'a URL is neither a file nor a folder',
    expect.stringContaining('--manifest-url') as string,
  ],
])('arguments that run would refuse are refused: %j', async (words, message, hint) => {
  await expect(install('--init', 'systemd', '--', ...words)).rejects.toMatchObject({
    name: 'UserError',
    message,
    hint,
  });
});

test('arguments with a secret are refused', async () => {
  const words = ['--manifest-url', 'https://me:s3cret@box.example/pods.yaml'];
  await expect(install('--init', 'systemd', '--', ...words)).rejects.toMatchObject({
    name: 'UserError',
    message: 'the args contain a secret, which every user of this machine could read in the service file',
    hint: 'Put it into the configuration that --config names, and make that file readable only for root.',
  });
});

test.each([
  'git+https://git.example/fleet.git//sites/east?ref=main',
  'https://box.example',
  'https://BOX.example/p.yaml',
  'https://box.example:443/x.yaml',
])('a URL without a secret is taken as it is written: %s', async (url) => {
  const words = ['--manifest-url', url];
  expect(await install('--init', 'systemd', '--', ...words)).toBe(
    systemdUnit({ program: '/usr/bin/kubelet-ts' }, words, 'kubelet-ts'),
  );
});

test('the word run before its arguments is refused', async () => {
  await expect(install('--init', 'systemd', 'run', '/srv/pods')).rejects.toMatchObject({
    name: 'UserError',
    message: 'the args start with run, which the service adds itself',
    hint: 'Leave it out. For a file or folder of that name, write ./run.',
  });
});

test('a flag of run without -- is refused with a hint', async () => {
  const texts: string[] = [];
  const program = new Command().exitOverride().configureOutput({ writeErr: (text) => texts.push(text) });
  register(program, {} as unknown as CommandDeps);
  const words = ['install-service', '/srv/pods', '--max-pods', '20'];
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toMatchObject({ code: 'commander.unknownOption' });
  expect(texts.join('')).toBe(
    "error: unknown option '--max-pods'\n" +
      '(put -- before the args of run: kubelet-ts install-service -- ARGS; see --help)\n',
  );
});

test('a program that is not an executable file is refused', async () => {
  const folder = await temporaryFolder();
  const [plain, executable, missing] = [join(folder, 'plain'), join(folder, 'program'), join(folder, 'nope')];
  await writeFile(plain, '', { mode: 0o644 });
  await writeFile(executable, '', { mode: 0o755 });
  for (const program of [plain, missing, folder])
    await expect(requireExecutable(program)).rejects.toMatchObject({
      name: 'UserError',
      message: `${program} is not an executable file`,
      hint: 'Name the kubelet-ts of this machine with --program.',
    });
  await expect(requireExecutable(executable)).resolves.toBeUndefined();
});

test('a dry run of the removal reports what the removal would report', async () => {
  const folder = await temporaryFolder();
  const uninstall = async (...words: string[]): Promise<string> => {
    const program = new Command();
    const texts: string[] = [];
    const stdout = { write: (text: string) => texts.push(text) };
    registerUninstall(program, { stdout } as unknown as CommandDeps, [folder]);
    await program.parseAsync(['uninstall-service', '--init', 'systemd', '--name', 'kts-absent', ...words], {
      from: 'user',
    });
    return texts.join('');
  };
  const absent = 'no service is installed: there is no /etc/systemd/system/kts-absent.service\n';
  expect([await uninstall(), await uninstall('--dry-run')]).toEqual([absent, absent]);
  const unit = join(folder, 'kts-absent.service');
  await writeFile(unit, '[Unit]\n');
  const refusal = { message: `${unit} belongs to a package, so uninstall-service does not remove it` };
  await expect(uninstall()).rejects.toMatchObject(refusal);
  await expect(uninstall('--dry-run')).rejects.toMatchObject(refusal);
});

test('the unit of a package is not denied', async () => {
  const folder = await temporaryFolder();
  const unit = join(folder, 'kubelet-ts.service');
  await expect(refusePackaged('kubelet-ts.service', [folder])).resolves.toBeUndefined();
  await writeFile(unit, '[Unit]\n');
  await expect(refusePackaged('kubelet-ts.service', ['/nowhere', folder])).rejects.toMatchObject({
    name: 'UserError',
    message: `${unit} belongs to a package, so uninstall-service does not remove it`,
    hint:
      'On Debian, dpkg -S kubelet-ts.service names the package, and apt remove PACKAGE removes it. ' +
      'To only stop the service: systemctl disable --now kubelet-ts.service',
  });
});
