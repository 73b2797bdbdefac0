import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../src/commands/down.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

test.each([
  ['down', []],
  ['down --all', ['--all']],
])('%s fails if an isolated run was killed and cannot be removed', async (_what, more) => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'runs', 'run-0000000a', 'pods', 'uid-1'), { recursive: true });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  const endpoint = 'unix:///nonexistent/containerd.sock';
  const words = ['down', '--root-dir', rootDir, '--container-runtime-endpoint', endpoint, ...more];
  await program.parseAsync(words, { from: 'user' });
  const [error, ...hints] = deps.printed.stderr.split('\n');
  expect({ ...deps.printed, stderr: hints, error }).toEqual({
    stdout: '',
    error: expect.stringContaining(`error: the isolated run run-0000000a could not be removed: `) as string,
    stderr: [
      'hint: The next run-once --isolated or down tries again.',
      ...(more.length === 0
        ? []
        : ['hint: The managed containerd keeps running, because containers of these pods may still run.']),
      '',
    ],
    exitCode: 1,
  });
});

test('down --volumes deletes nothing in a folder that is not a root-dir', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'volumes', 'shop', 'orders'), { recursive: true });
  await mkdir(join(folder, 'persistent-volumes'));
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['down', '--volumes', '--root-dir', folder], { from: 'user' });
  expect(deps.printed).toEqual({
    stdout: 'claim shop/orders keeps its data\n',
    stderr: `error: the data of the claims could not be deleted: ${folder} is not a root-dir of kubelet-ts, because it has no state/owner.json\n`,
    exitCode: 1,
  });
  expect((await readdir(folder, { recursive: true })).sort()).toEqual([
    ...['persistent-volumes', 'volumes', 'volumes/shop', 'volumes/shop/orders'],
  ]);
});

test('down reports that nothing of kubelet-ts is there', async () => {
  const rootDir = await temporaryFolder();
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['down', '--all', '--root-dir', rootDir], { from: 'user' });
  expect(deps.printed).toEqual({
    stdout: `nothing to stop: ${rootDir} has no agent and no pods\n`,
    stderr: '',
    exitCode: undefined,
  });
});

test('down names the isolated runs that it removes', async () => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'runs', 'run-0000000a'), { recursive: true });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['down', '--root-dir', rootDir], { from: 'user' });
  expect(deps.printed).toEqual({ stdout: 'isolated run run-0000000a removed\n', stderr: '', exitCode: undefined });
});
