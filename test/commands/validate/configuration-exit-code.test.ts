import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/validate.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

/** Resolves to stdout. */
async function validate(...words: string[]): Promise<string> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  const deps = makeDeps(makeRuntime([], []));
  register(program, deps);
  await program.parseAsync(['validate', ...words], { from: 'user' });
  return deps.printed.stdout;
}

/** Writes a configuration with these lines. Returns its path. */
async function configuration(...lines: string[]): Promise<string> {
  const file = join(await temporaryFolder(), 'kubelet.yaml');
  const head = ['apiVersion: kubelet.config.k8s.io/v1beta1', 'kind: KubeletConfiguration'];
  await writeFile(file, [...head, ...lines, ''].join('\n'));
  return file;
}

test.each([
  ['of the wrong type', 'maxPods: many'],
  ['out of its range', 'maxPods: -1'],
])('a value %s in the file of --config has exit code 2', async (_case, line) => {
  const file = await configuration(line);
  await expect(validate('--config', file)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining(`${file}:3:`) as string,
  });
});

test('a file of --config, or a folder of --config-dir, that cannot be read has exit code 2', async () => {
  await expect(validate('--config', '/nowhere/kubelet.yaml')).rejects.toMatchObject({
    exitCode: 2,
    message: 'the configuration /nowhere/kubelet.yaml cannot be read: no such file',
    hint: 'It is named by --config, or in the folder of --config-dir.',
  });
  await expect(validate('--config-dir', '/nowhere')).rejects.toMatchObject({ exitCode: 2 });
});

test('a wrong drop-in has exit code 2', async () => {
  const folder = join(await temporaryFolder(), 'drop-ins');
  await mkdir(folder);
  await writeFile(join(folder, 'a.conf'), 'kind: KubeletConfiguration\n');
  await expect(validate('--config-dir', folder)).rejects.toMatchObject({ exitCode: 2 });
});

test('a wrong flag has exit code 1, also next to a good file of --config', async () => {
  await expect(validate('--max-pods', '-1')).rejects.toMatchObject({ exitCode: 1 });
  const file = await configuration('maxPods: 3');
  await expect(validate('--config', file, '--max-pods', '-1')).rejects.toMatchObject({ exitCode: 1 });
});

test('a good configuration that names no manifests is checked alone, with its warnings', async () => {
  const file = await configuration('maxPods: 3', 'maxpods: 4');
  expect(await validate('--config', file)).toBe(`${file}:4:1: warning: maxpods: Unknown field "maxpods" is ignored
    4 | maxpods: 4
      | ^~~~~~~
  hint: Did you mean "maxPods"?
0 pods: 0 errors, 1 warning
`);
});
