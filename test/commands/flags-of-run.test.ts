import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, type Option } from 'commander';
import { expect, test } from 'vitest';
import { register as registerDoctor } from '../../src/commands/doctor.ts';
import { register as registerRun } from '../../src/commands/run.ts';
import { register as registerBundle } from '../../src/commands/support-bundle.ts';
import { register as registerValidate } from '../../src/commands/validate.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

type Register = typeof registerRun;

function optionsOf(register: Register): readonly Option[] {
  const program = new Command();
  register(program, makeDeps(makeRuntime([], [])));
  return program.commands[0]?.options ?? [];
}

/** An option as the parser takes it. */
const form = ({ flags, argChoices = [] }: Option): string => [flags, ...argChoices].join(' ');

/** They print, and run no pods. */
const printing = ['--help-all', '--version'];

test.each<[string, Register]>([
  ['validate', registerValidate],
  ['doctor', registerDoctor],
  ['support-bundle', registerBundle],
])('%s takes every flag of run', (_name, register) => {
  const ofRun = optionsOf(registerRun).filter(({ long }) => !printing.includes(long ?? ''));
  const own = new Set(optionsOf(register).map(form));
  expect(ofRun.length).toBeGreaterThan(150);
  expect(ofRun.map(form).filter((flag) => !own.has(flag))).toEqual([]);
});

test('flags of the screen and of the log change no result', async () => {
  const manifest = join(await temporaryFolder(), 'web.json');
  const spec = { containers: [{ name: 'main', image: 'busybox' }] };
  await writeFile(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec }));
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  registerValidate(program, deps);
  const flags = ['--no-tui', '--theme', 'dark', '--log-format=json', '--log-level', 'debug'];
  await program.parseAsync(['validate', ...flags, manifest], { from: 'user' });
  expect(deps.printed).toEqual({ stdout: '1 pod: 0 errors, 0 warnings\n', stderr: '', exitCode: undefined });
});
