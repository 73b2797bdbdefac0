import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/install-service.ts';
import type { CommandDeps } from '../../../src/commands/io/deps.ts';
import { openRCScript } from '../../../src/commands/service/openrc-script.ts';
import { systemdUnit } from '../../../src/commands/service/systemd-unit.ts';

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
    fileOf('/usr/bin/kubelet-ts', ['/etc/kubernetes/manifests'], 'kubelet-ts'),
  );
  const words = ['/srv/pods', '--max-pods', '20'];
  expect(await install('--init', init, '--name', 'fleet', '--', ...words)).toBe(
    fileOf('/usr/bin/kubelet-ts', words, 'fleet'),
  );
});

test('arguments with a secret are refused', async () => {
  const words = ['--manifest-url', 'https://me:s3cret@box.example/pods.yaml'];
  await expect(install('--init', 'systemd', '--', ...words)).rejects.toMatchObject({
    name: 'UserError',
    message: 'the arguments hold a secret, which every user of this machine could read in the service',
    hint: 'Put it into the configuration that --config names, and make that file readable for root alone.',
  });
});
