import { join } from 'node:path';
import { Command } from 'commander';
import { expect, onTestFinished, test } from 'vitest';
import { addRuntimeOptions } from '../../src/node/options/flags.ts';

/** The root-dir of a command with these words. */
async function rootDirOf(...words: string[]): Promise<unknown> {
  const command = addRuntimeOptions(new Command());
  await command.parseAsync(words, { from: 'user' });
  return command.opts()['rootDir'];
}

test.each([
  ['/var/lib/kubelet-ts/', '/var/lib/kubelet-ts'],
  ['/var/lib/./kubelet-ts', '/var/lib/kubelet-ts'],
  ['state', join(process.cwd(), 'state')],
  ['', '/var/lib/kubelet-ts'],
])('the root-dir "%s" is %s, as a flag and as a variable', async (named, path) => {
  expect(await rootDirOf('--root-dir', named)).toBe(path);
  const before = process.env['KUBELET_TS_ROOT_DIR'];
  onTestFinished(() => {
    if (before === undefined) delete process.env['KUBELET_TS_ROOT_DIR'];
    else process.env['KUBELET_TS_ROOT_DIR'] = before;
  });
  process.env['KUBELET_TS_ROOT_DIR'] = named;
  expect(await rootDirOf()).toBe(path);
});

test('without a name the root-dir is the default', async () => {
  expect(await rootDirOf()).toBe('/var/lib/kubelet-ts');
});
